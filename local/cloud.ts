/**
 * Starts the local cloud: it reads the template that `infra/` synthesises and starts its resources. There is one folder for each
 * service of AWS. `platform.ts` starts the parts that live as long as the cloud, and `deployment/` puts a template into them, as
 * often as it changes. `account.ts` has the account, the region and the ARNs.
 */

import { LOCAL_CREDENTIALS, nameOfArn, REGION, TESTER } from './account.ts'
import { type Deployment, deploy, type LocalResource } from './deployment/deployment.ts'
import type { Functions } from './functions/functions.ts'
import type { Mapping } from './mappings/mapping.ts'
import { createClosing, type LocalCloudOptions, type Platform, startPlatform } from './platform.ts'

export type { LocalCloudOptions } from './platform.ts'

export type LocalCloud = ReturnType<typeof openCloud>

/**
 * Boots a stack of a synthesised template on this machine. When a part does not start or a custom resource fails, it ends
 * everything and rejects.
 */
export async function startLocalCloud(options: LocalCloudOptions): Promise<LocalCloud> {
  const closing = createClosing()
  try {
    const platform = await startPlatform(options, closing)
    let present = await deploy(platform, options.assemblyDir, undefined)
    /**
     * Deploys a changed template of the stack in place. Tables, queues, schedules and their data stay, and what has not changed
     * keeps running. What is replaced ends after the work that it has under way. When the promise rejects, the last deployment runs as before.
     * The properties of the cloud describe the new deployment afterwards. A further call waits for the present one.
     */
    const redeploy = oneAfterTheOther(async (assemblyDir: string) => {
      present = await deploy(platform, assemblyDir, present)
    })
    return openCloud(platform, () => present, { redeploy, stop: closing.run })
  } catch (cause) {
    await closing.run()
    throw cause
  }
}

/** Each call begins after the last one has ended, however it ended. */
function oneAfterTheOther(run: (assemblyDir: string) => Promise<void>) {
  let last: Promise<unknown> = Promise.resolve()
  return (assemblyDir: string): Promise<void> => {
    const mine = last.then(() => run(assemblyDir))
    last = mine.catch(() => undefined)
    return mine
  }
}

/** The cloud as tests and tools see it. What depends on the template is read from the present deployment. */
function openCloud(
  platform: Platform,
  present: () => Deployment,
  control: { redeploy(assemblyDir: string): Promise<void>; stop(): Promise<void> },
) {
  const { functions, mappings, services, scheduler, meter, faults, denials, broken } = platform
  const { url: endpoint } = platform.gateway
  const { secretAccessKey } = LOCAL_CREDENTIALS
  const credentials = { accessKeyId: TESTER, secretAccessKey, sessionToken: platform.accessKey }
  return {
    apiUrl: platform.api.url,
    /** The address that serves DynamoDB, its streams, SQS, Scheduler, Lambda's Invoke and Secrets Manager. */
    endpoint,
    /** Options of an AWS SDK client; its calls are attributed to `tester`. */
    clientOptions: { endpoint, region: REGION, credentials },
    /** `clientOptions` as environment variables, for another process. */
    environment: { ...platform.environment, AWS_ACCESS_KEY_ID: TESTER },
    get resources() {
      return present().resources
    },
    /** The one resource of a type whose logical id contains the text. */
    resource: (type: string, idPart = '') => findResource(present().resources, type, idPart),
    get outputs() {
      return present().stack.outputs()
    },
    /** `construct path (type)` of the resources that do not run here, and are not known to be without effect. */
    get unsupported() {
      return present().unsupported
    },
    get services() {
      return services.all()
    },
    get mappings() {
      return mappings.all()
    },
    mapping: (name: string) => findMapping(mappings.all(), functions, name),
    /** The messages of a queue, given by its ARN or name. They are not received. */
    inspectQueue: (queue: string) => platform.stores.sqs.inspect(nameOfArn(queue)),
    ...{ functions, scheduler, meter, faults, denials, broken },
    ...control,
  }
}

function findResource(
  resources: Readonly<Record<string, LocalResource>>,
  type: string,
  idPart: string,
): LocalResource {
  const ofType = Object.entries(resources).filter(([, resource]) => resource.type === type)
  const exact = ofType.find(([logicalId]) => logicalId === idPart)
  const [only, second] = exact ? [exact] : ofType.filter(([logicalId]) => logicalId.includes(idPart))
  if (only && !second) return only[1]
  const ids = ofType.map(([logicalId]) => logicalId).join(', ')
  const problem = second ? 'Several resources match' : 'No resource matches'
  throw new Error(`${problem} "${idPart}"; the resources of type ${type} are: ${ids}`)
}

function findMapping(mappings: readonly Mapping[], functions: Functions, name: string): Mapping {
  const { logicalId } = functions.find(name)
  const found = mappings.find(({ functionId }) => functionId === logicalId)
  if (found) return found
  throw new Error(`${logicalId} has no event source mapping`)
}
