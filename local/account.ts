export const REGION = 'us-east-1'
export const ACCOUNT_ID = '000000000000'

/** An ARN of the local account. `resource` is the part after the account, e.g. `function:planner`. */
export const arnOf = (service: string, resource: string) =>
  `arn:aws:${service}:${REGION}:${ACCOUNT_ID}:${resource}`

/** IAM is global: its ARNs carry no region. */
export const roleArnOf = (name: string) => `arn:aws:iam::${ACCOUNT_ID}:role/${name}`

/** The name at the end of an ARN: `arn:aws:sqs:…:orders` and `arn:aws:lambda:…:function:planner` alike. */
export const nameOfArn = (arn: string) => arn.slice(arn.lastIndexOf(':') + 1)

/**
 * Credentials for people and programs of this machine. They are not secret, because the local system serves this machine only. The IAM
 * user that they belong to may call every route.
 */
export const LOCAL_CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' } as const

/** The access key id with which tests and tools sign. It belongs to no role. */
export const TESTER = 'tester'
