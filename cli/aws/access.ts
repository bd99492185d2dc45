import { defaultProvider } from '@aws-sdk/credential-provider-node'
import { loadConfig } from '@smithy/core/config'
import { regionOf } from '../../shared/client/signed/signed-fetch.ts'
import { BatonError, messageOf } from '../../shared/core/errors.ts'
import { loginCommand } from './credential-faults.ts'

/** The options by which a user names an account and a region. */
export type AccessOptions = { readonly profile?: string; readonly region?: string }

/** Access keys and, for temporary ones, the session token. */
type Credentials = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

export type LoadCredentials = () => Promise<Credentials>

/**
 * The region: given, else of the environment, else of the profile. `what` says in the error for what it is needed.
 *
 * @throws BatonError `misconfigured` when none of them names one.
 */
export async function regionFor({ region, profile }: AccessOptions, what: string): Promise<string> {
  if (region !== undefined) return region
  const found = await loadConfig<string>(
    {
      environmentVariableSelector: env => env.AWS_REGION || env.AWS_DEFAULT_REGION,
      configFileSelector: settings => settings.region,
      default: '',
    },
    profile === undefined ? {} : { profile },
  )()
  if (found !== '') return found
  throw new BatonError(
    'misconfigured',
    `${what} needs a region, and neither the environment nor ${profileText(profile)} names one: give --region, or set AWS_REGION`,
  )
}

/** The region that the address of an API names; that of the local system for this machine. Undefined for a custom domain. */
export function regionNamedBy(url: string): string | undefined {
  try {
    return regionOf(new URL(url).hostname, {})
  } catch {
    return undefined
  }
}

/**
 * Finds the credentials of the user as the AWS CLI does: environment, profile, single sign-on, containers, instances. The answer loads
 * them again before they end, and throws the same error when that fails.
 *
 * @throws BatonError `misconfigured` when there are none.
 */
export async function credentialsOf({ profile }: AccessOptions): Promise<LoadCredentials> {
  // A profile that is given goes before the keys of the environment, and the SDK would print a warning about that.
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const load = defaultProvider({ ...(profile !== undefined && { profile }), logger })
  const checked = () => load().catch(cause => Promise.reject(noCredentials(cause, profile)))
  await checked()
  return checked
}

/** Credentials that are there at the start may end later: a login of single sign-on, or a profile that is edited. */
function noCredentials(cause: unknown, given: string | undefined): BatonError {
  const profile = given ?? (process.env.AWS_PROFILE || undefined)
  const login = `log in with ${loginCommand(profile)}`
  const [of, advice] =
    profile === undefined
      ? ['', `give --profile, ${login}, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`]
      : [` of the profile ${profile}`, `${login}, or give another --profile`]
  return new BatonError('misconfigured', `no AWS credentials${of}: ${messageOf(cause)}; ${advice}`, { cause })
}

function profileText(profile: string | undefined): string {
  return profile === undefined ? 'the profile' : `the profile ${profile}`
}
