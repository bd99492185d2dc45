import { requiredVariable } from '../../shared/aws/environment.ts'

/**
 * Replaces the AWS SDK's search for credentials (files, single sign-on, other roles, metadata services) in the bundles of
 * the system's functions. Lambda gives a function its credentials only in its environment. The search made up a fifth of
 * each bundle, which every cold start had to read.
 */
export function defaultProvider() {
  return async () => ({
    accessKeyId: requiredVariable('AWS_ACCESS_KEY_ID'),
    secretAccessKey: requiredVariable('AWS_SECRET_ACCESS_KEY'),
    ...(process.env.AWS_SESSION_TOKEN && { sessionToken: process.env.AWS_SESSION_TOKEN }),
  })
}
