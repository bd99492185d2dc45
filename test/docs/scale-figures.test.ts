import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { TASK_WRITE_UNITS, TASKS_PER_SHARD, WARM_HEADROOM } from '../../infra/bounds.ts'

/** The figures of one busy type in docs/scale.md, computed by placing the keys of the index `view` at random in its partitions. */

const PARTITION_UNITS = 1_000
const COLD_PARTITIONS = 4
const RUNS = 20_000

const text = readFileSync('docs/scale.md', 'utf8')
/** The cells of the row of a table that begins with this text. */
const row = (start: string, from = 0): string[] => {
  const line =
    text
      .slice(from)
      .split('\n')
      .find(one => one.startsWith(`| ${start} |`)) ?? ''
  return line
    .split('|')
    .slice(2, -1)
    .map(cell => cell.trim())
}
const numberIn = (cell: string) => Number.parseFloat(cell.replaceAll(',', ''))

/** A random number that is the same in each run of the test. */
function seeded(): () => number {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** The chance that a partition gets more than it serves. An open task takes 2 units of its key, an ended one 1 unit of another key. */
function chanceOfThrottling(rate: number, shards: number, partitions: number): number {
  const random = seeded()
  let throttled = 0
  for (let run = 0; run < RUNS; run++) {
    const load = new Float64Array(partitions)
    for (let shard = 0; shard < shards; shard++)
      for (const units of [2, 1]) {
        const partition = Math.floor(random() * partitions)
        load[partition] = (load[partition] ?? 0) + (units * rate) / shards
      }
    if (load.some(units => units > PARTITION_UNITS)) throttled++
  }
  return (100 * throttled) / RUNS
}

it('a warm type reaches 1,000 / 2 tasks a second for each shard', () => {
  const shards = row('`shards`').map(numberIn)
  const most = row('tasks a second, at most').map(numberIn)

  expect(shards).toEqual([4, 8, 16, 32, 64])
  expect(most).toEqual(shards.map(count => (count * PARTITION_UNITS) / 2))
})

it.each([4, 16])('the chance of throttling a cold index with %i shards is as in the table', shards => {
  const rates = row('tasks a second').map(numberIn)
  const chances = row(`${shards} shards`).map(numberIn)

  expect(rates).toHaveLength(5)
  for (const [nth, rate] of rates.entries())
    expect(
      Math.abs(chanceOfThrottling(rate, shards, COLD_PARTITIONS) - (chances[nth] ?? Number.NaN)),
    ).toBeLessThan(1.5)
})

it('the chance with expectedTasksPerSecond is as in the table', () => {
  const rates = row('expected tasks a second').map(numberIn)
  const settings = row('shards, warm write units a second')
  const chances = row('chance of throttling before DynamoDB splits partitions').map(numberIn)

  expect(rates).toHaveLength(3)
  for (const [nth, rate] of rates.entries()) {
    const shards = Math.max(4, Math.ceil(rate / TASKS_PER_SHARD))
    const units = rate * TASK_WRITE_UNITS * WARM_HEADROOM
    expect(settings[nth]).toBe(`${shards}, ${units.toLocaleString('en')}`)
    const partitions = units / PARTITION_UNITS
    expect(
      Math.abs(chanceOfThrottling(rate, shards, partitions) - (chances[nth] ?? Number.NaN)),
    ).toBeLessThan(1.5)
  }
})
