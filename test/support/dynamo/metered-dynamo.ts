import { beforeAll } from 'vitest'
import { type ADynamo, aDynamo } from './a-dynamo.ts'
import { meterUnits, type Units, type UnitsByKind } from './unit-meter.ts'

export type MeteredDynamo = ADynamo & {
  /** Returns the units that all stores have consumed since the last call. */
  take(): Units
  /** Returns what the service would bill for the requests since the last call, with reads apart from writes. */
  takeByKind(): UnitsByKind
}

/** Starts DynamoDB Local for the tests of a file, and meters its stores. The result can be used only within tests. */
export function aMeteredDynamo(): MeteredDynamo {
  const dynamo = aDynamo()
  let meter: ReturnType<typeof meterUnits>
  beforeAll(() => {
    meter = meterUnits(dynamo.client())
  })
  return { ...dynamo, take: () => meter.take(), takeByKind: () => meter.takeByKind() }
}
