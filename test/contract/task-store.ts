import { describe } from 'vitest'
import type { Stores } from '../support/dynamo-stores.ts'
import { bodiesContract } from './bodies.ts'
import { canvasesContract } from './canvases.ts'
import { flowsContract } from './flows.ts'
import { guardsContract } from './guards.ts'
import { indexesContract } from './indexes.ts'
import { limitsContract } from './limits.ts'
import { looksContract } from './looks.ts'
import { pathsContract } from './paths.ts'
import { recordsContract } from './records.ts'
import { targetsContract } from './targets.ts'
import { turnsContract } from './turns.ts'
import { typesContract } from './types.ts'
import { workersContract } from './workers.ts'

/** Stores with nothing in them. */
export type MakeStores = () => Promise<Stores>

/** What every set of stores promises. */
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
  describe('records', () => recordsContract(makeStores))
  describe('canvases', () => canvasesContract(makeStores))
  describe('targets', () => targetsContract(makeStores))
  describe('workers', () => workersContract(makeStores))
}
