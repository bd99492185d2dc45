/** The public entry `baton-tasks/aws`: what programs with AWS credentials use in addition to the client. It contains parts of the AWS SDK. */

export type { TransactEntry } from './aws/dynamo/head/transact-entries.ts'
export { type SignedFetchOptions, signedFetch } from './client/signed/signed-fetch.ts'
export {
  createTableClient,
  type PublishedTask,
  type TableClient,
  type TableClientSettings,
  type TaskFilter,
  type TransactBody,
  type TransactOptions,
} from './table/table-client.ts'
export { type ExistingTask, taskAlreadyExists } from './table/transact-items.ts'
