import { afterAll, beforeAll, it } from 'vitest'
import { aWorkerFleet } from '../test/support/workers/worker-fleet.ts'
import { chordRow } from './chord.ts'
import { devRows } from './dev.ts'
import { firstViewRows } from './first-view.ts'
import { flowControlRows } from './flow-control.ts'
import { memoryRows } from './memory.ts'
import { type Row, tableOf } from './row.ts'
import { takeoverRow } from './takeover.ts'
import { latenessRows, startRows } from './timing.ts'

/** The rows of `npm run bench`. A row fails when it cannot be measured, never because it is slow. */

const fleet = aWorkerFleet()
const rows: Row[] = []

beforeAll(async () => {
  // The sweeper runs once a minute and would disturb the measurements.
  fleet.system.cloud.scheduler.disable('Sweep')
  await fleet.system.cloud.functions.find('Probe').warm(2)
})

afterAll(() => console.log(`\n${tableOf(rows)}\n`))

it('start', async () => void rows.push(...(await startRows(fleet))))
it('lateness', async () => void rows.push(...(await latenessRows(fleet))))
it('takeover', async () => void rows.push(await takeoverRow(fleet)))
it('chord', async () => void rows.push(await chordRow(fleet)))
it('flow control', async () => void rows.push(...(await flowControlRows(fleet))))
it('baton dev', async () => void rows.push(...(await devRows())))
it('dashboard', async () => void rows.push(...(await firstViewRows())))
it('memory', async () => void rows.push(...(await memoryRows())))
