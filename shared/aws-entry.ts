/** The public entry `baton-tasks/aws`: what programs with AWS credentials use beside the client. It contains parts of the AWS SDK. */
export { type SignedFetchOptions, signedFetch } from './signed-fetch/signed-fetch.ts'
