import { describe } from 'vitest'
import type { Stores } from '../support/dynamo/dynamo-stores.ts'
import { activityContract } from './activity.ts'
import { canvasesContract } from './canvas/canvases.ts'
import { deadLettersContract } from './dead-letters.ts'
import { failuresContract } from './failures.ts'
import { limitsContract } from './limits/limits.ts'
import { turnsContract } from './limits/turns.ts'
import { recordsContract } from './records.ts'
import { bodiesContract } from './task/bodies.ts'
import { flowsContract } from './task/flows.ts'
import { guardsContract } from './task/guards.ts'
import { indexesContract } from './task/indexes.ts'
import { looksContract } from './task/looks.ts'
import { pathsContract } from './task/paths.ts'
import { typesContract } from './types.ts'
import { targetsContract } from './workers/targets.ts'
import { workersContract } from './workers/workers.ts'

/** Creates empty stores. */
export type MakeStores = () => Promise<Stores>

/** The promises of every set of stores. */
export function storesContract(makeStores: MakeStores): void {
  describe('guards', () => guardsContract(makeStores))
  describe('paths', () => pathsContract(makeStores))
  describe('looks', () => looksContract(makeStores))
  describe('bodies', () => bodiesContract(makeStores))
  describe('indexes', () => indexesContract(makeStores))
  describe('flows', () => flowsContract(makeStores))
  describe('types', () => typesContract(makeStores))
  describe('limits', () => limitsContract(makeStores))
  describe('turns', () => turnsContract(makeStores))
  describe('failures', () => failuresContract(makeStores))
  describe('activity', () => activityContract(makeStores))
  describe('dead letters', () => deadLettersContract(makeStores))
  describe('records', () => recordsContract(makeStores))
  describe('canvases', () => canvasesContract(makeStores))
  describe('targets', () => targetsContract(makeStores))
  describe('workers', () => workersContract(makeStores))
}
