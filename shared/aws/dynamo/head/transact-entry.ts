/**
 * One entry of `TransactItems`, as the `TransactWriteCommand` of `@aws-sdk/lib-dynamodb` takes it. This file names no type of the SDK,
 * so that users need none of our version.
 */
export type TransactEntry = {
  readonly Put: {
    readonly TableName: string
    /** `pk` is the id of the task. */
    readonly Item: Readonly<Record<string, unknown>> & { readonly pk: string; readonly sk: string }
    readonly ConditionExpression?: string
    readonly ExpressionAttributeNames?: Record<string, string>
    readonly ReturnValuesOnConditionCheckFailure?: 'ALL_OLD'
  }
}
