/**
 * A deployment: one template of the stack, running. `deploy` replaces the present deployment in place, or makes the first one:
 *
 * 1. It reads the template, and creates what the stores lack. Data of removed tables and queues stays.
 * 2. Custom resources run, already with the next version of their functions. Those that the stack has lost are deleted.
 * 3. All other parts of the template are read. Until here the old deployment keeps running, and a failure returns the stores and the
 *    custom resources to what they were.
 * 4. The parts are replaced in one turn of the event loop. Nothing in it can fail. What has not changed stays untouched, and what
 *    is replaced or gone ends after the work that it has under way.
 */

import { resolve } from 'node:path'
import { nameOfArn } from '../account.ts'
import { eventsEnvironment } from '../events/events.ts'
import type { NextFunctions } from '../functions/functions.ts'
import { readTaskTables } from '../gateway/owners.ts'
import { readOwnRoutes, readRoutes, systemApiOf } from '../http/routes.ts'
import { readMappings } from '../mappings/mappings.ts'
import { createPermissions, type Permissions } from '../permissions/permissions.ts'
import type { Platform } from '../platform.ts'
import { readSchedules } from '../scheduler/scheduler.ts'
import { readServices } from '../services/services.ts'
import { isTable } from '../stores/tables.ts'
import { emulationOf, insteadOf } from '../template/resource-types.ts'
import { type Assembly, openStack, readAssembly, type Stack } from '../template/stack.ts'
import { deployCustomResources } from './custom-resources.ts'

export type LocalResource = {
  readonly type: string
  /** What `Ref` gives: the URL of a queue, the name of a table or function. */
  readonly physicalId: string
  readonly arn: string
  readonly attributes: Readonly<Record<string, unknown>>
}

export type Deployment = {
  readonly stack: Stack
  readonly permissions: Permissions
  readonly resources: Readonly<Record<string, LocalResource>>
  readonly unsupported: readonly string[]
}

/** Replaces `present` by the template in this folder. When it rejects, `present` runs as before. */
export async function deploy(
  platform: Platform,
  assemblyDir: string,
  present: Deployment | undefined,
): Promise<Deployment> {
  refuseIfEnding(platform)
  const assembly = readAssembly(resolve(assemblyDir), platform.stackName)
  const apis = systemApiOf(assembly.template.Resources)
  const opened = await platform.ownApis.open(apis.own)
  const stack = openStack(assembly, platform.stackName, platform.surroundings)
  const permissions = createPermissions(stack, platform.log, platform.denials)
  const environment = { ...platform.environment, ...eventsEnvironment(stack), ...platform.ownEnvironment }
  const functions = platform.functions.next(stack, assembly, environment)
  const undo = createUndo(platform.log)
  try {
    await provision(platform, { stack, permissions, functions, present }, undo)
    const report = reportUnsupported(stack, platform.log)
    const next = readParts(platform, { stack, assembly, environment, functions, report, apis })
    refuseIfEnding(platform)
    commit(platform, { ...next, stack, functions, permissions })
    for (const id of opened)
      platform.log(`${constructPathOf(stack, id)} is served at ${platform.ownApis.urlOf(id)}`)
    if (present) reportKeptData(present.stack, stack, platform)
    return { stack, permissions, resources: resourcesOf(stack), unsupported: report.found }
  } catch (cause) {
    await undo.run()
    throw cause
  } finally {
    await functions.end()
  }
}

function refuseIfEnding({ isEnding }: Platform): void {
  if (isEnding()) throw new Error('the local cloud has ended')
}

function resourcesOf(stack: Stack): Record<string, LocalResource> {
  const described = stack
    .ids()
    .map(logicalId => [logicalId, { type: stack.resource(logicalId).Type, ...stack.describe(logicalId) }])
  return Object.fromEntries(described)
}

type Next = {
  readonly stack: Stack
  readonly permissions: Permissions
  readonly functions: NextFunctions
  readonly present: Deployment | undefined
}

/** Deploys what keeps state: tables, queues and custom resources. Meanwhile a call is allowed if one of the two stacks allows it. */
async function provision(
  platform: Platform,
  { stack, permissions, functions, present }: Next,
  undo: Undo,
): Promise<void> {
  const { stores, gateway, during } = platform
  if (present) undo.add(async () => void (await stores.deploy(present.stack)))
  undo.add(await during('creating tables and queues', () => stores.deploy(stack)))
  if (present) undo.add(async () => gateway.protect(present.permissions.refusalOf))
  gateway.protect(call => {
    const isStillAllowed = present !== undefined && !present.permissions.wouldRefuse(call)
    return isStillAllowed ? undefined : permissions.refusalOf(call)
  })
  const parts = {
    ...{ gateway, log: platform.log, state: platform.customResources, invokeNext: functions.invoke },
    invokePresent: (name: string, event: unknown) =>
      platform.functions
        .all()
        .find(one => one.hasName(name))
        ?.invoke(event),
  }
  const customResources = await during('registering types', () => deployCustomResources(stack, parts))
  undo.add(customResources.undo)
  await customResources.cleanUp()
}

type Parts = ReturnType<typeof readParts>

type Readable = Pick<Next, 'stack' | 'functions'> & {
  readonly assembly: Assembly
  readonly environment: Readonly<Record<string, string>>
  readonly report: UnsupportedReport
  readonly apis: ReturnType<typeof systemApiOf>
}

/** Reads all parts that `commit` replaces. Throws when one of them cannot be deployed. */
function readParts(platform: Platform, readable: Readable) {
  const { stack, assembly, environment, functions, report, apis } = readable
  functions.read(report.add)
  return {
    mappings: readMappings(stack, functions, report.add),
    services: platform.runsServices ? readServices(stack, assembly, environment, report.add) : [],
    schedules: readSchedules(stack),
    routes: readRoutes(stack, apis.system),
    /** The routes of the other HTTP APIs, by the logical ids of the APIs. */
    ownRoutes: new Map(apis.own.map(id => [id, readOwnRoutes(stack, id, report.add)])),
    taskTables: readTaskTables(stack),
  }
}

/** Replaces all parts within one turn of the event loop, so each request is served by one deployment or the other. */
function commit(platform: Platform, next: Parts & Pick<Next, 'stack' | 'functions' | 'permissions'>): void {
  const { functions, mappings, scheduler, services, events, gateway, api, meter, partsDown } = platform
  next.functions.commit()
  mappings.deploy(next.mappings)
  scheduler.deploy(next.schedules, next.permissions)
  services.deploy(next.services)
  events.deploy(next.stack)
  meter.owners.deploy(next.taskTables)
  gateway.protect(next.permissions.refusalOf)
  const stream = events.stream()
  const { routes, permissions } = next
  const parts = { permissions, functions, meter, partsDown }
  api.serve({ ...parts, routes, ...(stream && { stream }) })
  platform.ownApis.serve(next.ownRoutes, parts)
}

type Undo = ReturnType<typeof createUndo>

/** The steps that return a failed deployment to the present one. They run in reverse order, and a step that fails is logged. */
function createUndo(log: (line: string) => void) {
  const steps: Array<() => Promise<void>> = []
  return {
    add: (step: () => Promise<void>) => void steps.push(step),
    run: async () => {
      for (const step of steps.splice(0).reverse())
        await step().catch((cause: Error) => log(`a change could not be taken back: ${cause.message}`))
    },
  }
}

/** Names the tables and queues that the stack has lost. */
function reportKeptData(before: Stack, after: Stack, { log, dataDir }: Platform): void {
  const namesIn = (stack: Stack) =>
    stack
      .ids(type => isTable(type) || type === 'AWS::SQS::Queue')
      .map(id => nameOfArn(stack.describe(id).arn).replace('table/', ''))
  const names = new Set(namesIn(after))
  const place = dataDir === undefined ? 'until the local cloud ends' : `in ${dataDir}`
  for (const name of namesIn(before)) {
    if (!names.has(name)) log(`${name} is not in the stack any more; its data is kept ${place}`)
  }
}

type UnsupportedReport = ReturnType<typeof reportUnsupported>

/** Collects what the local cloud does not do. Each resource is named by its construct path, and logged when it is new. */
function reportUnsupported(stack: Stack, log: (line: string) => void) {
  const found: string[] = []
  const add = (logicalId: string, reason: string) => {
    const resource = `${constructPathOf(stack, logicalId)} (${stack.resource(logicalId).Type})`
    found.push(resource)
    log(`NOT SUPPORTED locally: ${resource}: ${reason}`)
  }
  for (const id of stack.ids(type => emulationOf(type).kind === 'unsupported'))
    add(id, `it does nothing here; ${insteadOf(stack.resource(id).Type)}`)
  return {
    /** Adds a resource that does not run here, with the reason. */
    add,
    /** `construct path (type)` of each resource that does nothing here. */
    found: found as readonly string[],
  }
}

/** The path of the construct in the app, e.g. `Shop/Uploads`. A template without paths leaves the logical id. */
function constructPathOf(stack: Stack, logicalId: string): string {
  const path = stack.resource(logicalId).Metadata?.['aws:cdk:path']
  return typeof path === 'string' ? path.replace(/\/Resource$/, '') : logicalId
}
