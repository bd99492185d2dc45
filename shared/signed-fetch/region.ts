import { BatonError } from '../core/errors.ts'

/** The addresses of APIs and of functions, such as `abc.execute-api.eu-west-1.amazonaws.com` and `abc.lambda-url.eu-west-1.on.aws`. */
const AWS_HOST = /\.(execute-api|lambda-url)\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws|on\.aws)$/
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
/** The region in which the local system stands. */
const LOCAL_REGION = 'us-east-1'

/**
 * The region that a signature names: of the address, else of the environment.
 *
 * @throws BatonError `misconfigured` when neither names one.
 */
export function regionOf(
  hostname: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const [, , ofHost] = AWS_HOST.exec(hostname) ?? []
  const region =
    ofHost ??
    (LOOPBACK.includes(hostname) ? LOCAL_REGION : undefined) ??
    environment.AWS_REGION ??
    environment.AWS_DEFAULT_REGION
  if (region !== undefined && region !== '') return region
  throw new BatonError(
    'misconfigured',
    `signedFetch: ${hostname} names no region; give signedFetch({ region }), or set AWS_REGION`,
  )
}

/** The service that a signature names. */
export function serviceOf(hostname: string): string {
  return AWS_HOST.exec(hostname)?.[1] === 'lambda-url' ? 'lambda' : 'execute-api'
}
