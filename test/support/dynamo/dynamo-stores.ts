import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { createCanvasStore } from '../../../shared/aws/dynamo/canvas/canvas-store.ts'
import { createFailureStore } from '../../../shared/aws/dynamo/failures/failure-store.ts'
import { createTurnStore } from '../../../shared/aws/dynamo/fair/turn-store.ts'
import { createTaskStore } from '../../../shared/aws/dynamo/head/task-store.ts'
import { createLimitStore } from '../../../shared/aws/dynamo/limits/limit-store.ts'
import { createRecordStore } from '../../../shared/aws/dynamo/records/record-store.ts'
import { createTypeStore } from '../../../shared/aws/dynamo/types/type-store.ts'
import { createTargets } from '../../../shared/aws/dynamo/worker/targets.ts'
import { createWorkerStore } from '../../../shared/aws/dynamo/worker/worker-store.ts'
import type {
  CanvasStore,
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
import { createManualClock, type ManualClock } from '../../../shared/testing/stores/clock.ts'
import { NOW } from '../tasks/a-task.ts'

export type Stores = {
  readonly tasks: TaskStore
  readonly types: TypeStore
  readonly canvases: CanvasStore
  readonly records: RecordStore
  readonly limits: LimitStore
  readonly turns: TurnStore
  readonly failures: FailureStore
  readonly targets: Targets
  readonly workers: WorkerStore
  readonly clock: ManualClock
}

export type DynamoStores = Stores & { readonly documents: DynamoDBDocumentClient; readonly table: string }

/** Makes the DynamoDB adapters of one table. Their write ids are `t0000001`, `t0000002` and so on. */
export function dynamoStores(client: DynamoDBClient, table: string): DynamoStores {
  const documents = DynamoDBDocumentClient.from(client)
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
    tasks: createTaskStore(documents, { table, newWriteId, clock, chance }),
    types: createTypeStore(documents, { table, clock }),
    canvases: createCanvasStore(documents, { table, clock, chance }),
    limits: createLimitStore(documents, { table, newWriteId }),
    turns: createTurnStore(documents, { table }),
    failures: createFailureStore(documents, { table }),
    records: createRecordStore(documents, { table, clock }),
    targets: createTargets(documents, { table, clock, chance }),
    workers: createWorkerStore(documents, { table, clock }),
  }
}
