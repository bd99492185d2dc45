import { shellWord } from '../say.ts'
import type { Context } from '../system/with-system.ts'
import type { Finding } from './finding.ts'
import { orUnchecked } from './unchecked.ts'

/** What a template with assets needs. Source: the rule `CheckBootstrapVersion` that aws-cdk-lib writes into each template. */
export const BOOTSTRAP_VERSION_MIN = 6

const CHECK = 'bootstrap'

/** Whether the account and region have the CDK's bootstrap, which the next deployment needs. The stack itself runs without it. */
export async function checkBootstrap({ deployed, options }: Context): Promise<Finding[]> {
  if (!deployed) return []
  const { account, region, bootstrap, look } = deployed
  if (!bootstrap) {
    const text = 'the stack does not say which bootstrap of the CDK it needs'
    return [{ level: 'fine', check: CHECK, text }]
  }
  const place = `account ${account} in ${region}`
  const next = bootstrapCommand(bootstrap.name, `aws://${account}/${region}`, options.profile)
  return orUnchecked(CHECK, async () => {
    const version = await look.bootstrapVersion()
    if (version === undefined) {
      const text = `the CDK's bootstrap is missing in ${place}: there is no parameter ${bootstrap.name}, so the next deployment fails`
      return [{ level: 'wrong', check: CHECK, text, next }]
    }
    const found = `the CDK's bootstrap of ${place} has version ${version}`
    if (Number(version) < BOOTSTRAP_VERSION_MIN)
      return [
        {
          level: 'wrong',
          check: CHECK,
          text: `${found}; the next deployment needs ${BOOTSTRAP_VERSION_MIN}`,
          next,
        },
      ]
    return [{ level: 'fine', check: CHECK, text: `${found} (needed: ${BOOTSTRAP_VERSION_MIN})` }]
  })
}

const USUAL_QUALIFIER = 'hnb659fds'

/** The parameter is `/cdk-bootstrap/QUALIFIER/version`. */
function bootstrapCommand(parameter: string, environment: string, profile: string | undefined): string {
  const [, qualifier = USUAL_QUALIFIER] = /^\/cdk-bootstrap\/([^/]+)\/version$/.exec(parameter) ?? []
  const words = [
    ...['npx', 'cdk', 'bootstrap', environment],
    ...(qualifier === USUAL_QUALIFIER ? [] : ['--qualifier', qualifier]),
    ...(profile === undefined ? [] : ['--profile', profile]),
  ]
  return words.map(shellWord).join(' ')
}
