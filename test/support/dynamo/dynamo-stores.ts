import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { sdkDocuments } from '../../../shared/aws/dynamo/sdk-documents.ts'
import { createActivityStore } from '../../../shared/aws/dynamo/stores/activity-store.ts'
import { createDeadLetterStore } from '../../../shared/aws/dynamo/stores/dead-letter-store.ts'
import { storesOn } from '../../../shared/aws/dynamo/stores/stores.ts'
import type {
  ActivityStore,
  CanvasStore,
  DeadLetterStore,
  FailureStore,
  LimitStore,
  RecordStore,
  Targets,
  TaskStore,
  TurnStore,
  TypeStore,
  WorkerStore,
} from '../../../shared/ports/stores.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { createManualClock, type ManualClock } from '../ports/clock.ts'
import { NOW } from '../tasks/a-task.ts'

export type Stores = {
  readonly tasks: TaskStore
  readonly types: TypeStore
  readonly canvases: CanvasStore
  readonly records: RecordStore
  readonly limits: LimitStore
  readonly turns: TurnStore
  readonly failures: FailureStore
  readonly activity: ActivityStore
  readonly deadLetters: DeadLetterStore
  readonly targets: Targets
  readonly workers: WorkerStore
  readonly clock: ManualClock
}

export type DynamoStores = Stores & { readonly documents: DynamoDBDocumentClient; readonly table: string }

/** Makes the DynamoDB adapters of one table. Their write ids are `t0000001`, `t0000002` and so on. */
export function dynamoStores(client: DynamoDBClient, table: string): DynamoStores {
  const documents = DynamoDBDocumentClient.from(client)
  const port = sdkDocuments(documents)
  const clock = createManualClock(NOW)
  const chance = createSeededChance(1)
  let writes = 0
  const newWriteId = () => {
    writes += 1
    return `t${String(writes).padStart(7, '0')}`
  }
  return {
    documents,
    table,
    clock,
    ...storesOn(port, { table, clock, chance, newWriteId }),
    activity: createActivityStore(port, { table }),
    deadLetters: createDeadLetterStore(port, { table, clock }),
  }
}
