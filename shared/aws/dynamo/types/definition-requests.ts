import type { GetCommandInput, PutCommandInput } from '@aws-sdk/lib-dynamodb'
import type { FlowDefinition } from '../../../core/task/flow-state.ts'
import { DEFINITION_SORT_KEY, definitionPartition } from '../keys.ts'
import { METERED } from '../sending.ts'
import { SCHEMA } from '../stored-form.ts'

/** Strongly consistent. */
export function getDefinition(table: string, name: string): GetCommandInput {
  const key = { pk: definitionPartition(name), sk: DEFINITION_SORT_KEY }
  return { ...METERED, TableName: table, Key: key, ConsistentRead: true }
}

/** Guard: nothing is there. What is there should be the same, for the name follows from the content. */
export function putDefinition(table: string, definition: FlowDefinition): PutCommandInput {
  return {
    ...METERED,
    TableName: table,
    Item: {
      pk: definitionPartition(definition.name),
      sk: DEFINITION_SORT_KEY,
      ...SCHEMA,
      json: JSON.stringify(definition),
    },
    ConditionExpression: 'attribute_not_exists(#pk)',
    ExpressionAttributeNames: { '#pk': 'pk' },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}
