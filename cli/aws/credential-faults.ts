import { shellWord } from '../terminal/say.ts'

/**
 * What is wrong with credentials that AWS refuses:
 *
 * - `expired`: a temporary credential has ended;
 * - `unknown-key`: AWS knows no such access key, or the session token is not that of the key;
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

/** The command by which the user of a profile logs in. */
export function loginCommand(profile: string | undefined): string {
  return profile === undefined ? 'aws sso login' : `aws sso login --profile ${shellWord(profile)}`
}

/** Says what is wrong and what to do, to the user of a profile. */
export function credentialTexts(fault: CredentialFault, profile: string | undefined): Texts {
  const renewal = `get new ones, for example with ${loginCommand(profile)}`
  switch (fault) {
    case 'expired':
      return {
        title: 'Your AWS credentials have expired',
        detail: `AWS refuses expired credentials: ${renewal}`,
      }
    case 'unknown-key':
      return {
        title: 'AWS does not know your credentials',
        detail: `the access key does not exist or is not active, or the session token is not its own: check the profile or the variables AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN, or ${renewal}`,
      }
    case 'wrong-secret':
      return {
        title: 'AWS refuses your signature',
        detail:
          'the secret access key is not that of the access key: check the profile or the variable AWS_SECRET_ACCESS_KEY',
      }
    case 'clock':
      return {
        title: 'AWS refuses the time of your signature',
        detail: 'the clock of this machine differs by more than 5 minutes: set it',
      }
  }
}
