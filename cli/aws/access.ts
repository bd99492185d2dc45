import { defaultProvider } from '@aws-sdk/credential-provider-node'
import { loadConfig } from '@smithy/core/config'
import { regionOf } from '../../shared/client/signed/signed-fetch.ts'
import { BatonError, messageOf } from '../../shared/core/values/values.ts'
import { shellWord } from '../terminal/io.ts'

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

/** The region that the address of an API names. An address of this machine has the region of the local system. Undefined for a custom domain. */
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

/**
 * What is wrong with credentials that AWS refuses:
 *
 * - `expired`: a temporary credential has ended;
 * - `unknown-key`: AWS knows no such access key, or the session token belongs to another key;
 * - `wrong-secret`: the signature was made with another secret key;
 * - `clock`: the signature is too old, or of the future.
 */
export type CredentialFault = 'expired' | 'unknown-key' | 'wrong-secret' | 'clock'

/** Services have different words for the same. */
const WORDS: ReadonlyArray<readonly [pattern: RegExp, fault: CredentialFault]> = [
  [/signature expired|signature not yet current|RequestTimeTooSkewed|RequestExpired/i, 'clock'],
  [/ExpiredToken|token included in the request is expired/i, 'expired'],
  [/InvalidClientTokenId|UnrecognizedClient|token included in the request is invalid/i, 'unknown-key'],
  [/SignatureDoesNotMatch|InvalidSignature|IncompleteSignature|signature we calculated/i, 'wrong-secret'],
]

/** Finds the fault in the code and the sentence of a refusal. */
export function credentialFaultIn(refusal: string): CredentialFault | undefined {
  return WORDS.find(([pattern]) => pattern.test(refusal))?.[1]
}

export type Texts = { readonly title: string; readonly detail: string }

function loginCommand(profile: string | undefined): string {
  return profile === undefined ? 'aws sso login' : `aws sso login --profile ${shellWord(profile)}`
}

/** Says what is wrong and what to do, to the user of a profile. */
export function credentialTexts(fault: CredentialFault, profile: string | undefined): Texts {
  const renewal = `get new ones, for example with ${loginCommand(profile)}`
  const texts: Readonly<Record<CredentialFault, Texts>> = {
    expired: {
      title: 'Your AWS credentials have expired',
      detail: `AWS refuses expired credentials: ${renewal}`,
    },
    'unknown-key': {
      title: 'AWS does not know your credentials',
      detail: `the access key does not exist or is not active, or the session token is not its own: check the profile or the variables AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN, or ${renewal}`,
    },
    'wrong-secret': {
      title: 'AWS refuses your signature',
      detail:
        'the secret access key does not belong to the access key: check the profile or the variable AWS_SECRET_ACCESS_KEY',
    },
    clock: {
      title: 'AWS refuses the time of your signature',
      detail: 'the clock of this machine differs by more than 5 minutes: set it',
    },
  }
  return texts[fault]
}
