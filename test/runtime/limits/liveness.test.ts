import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cancelTask } from '../../../shared/runtime/operate/operate.ts'
import { patchTask } from '../../../shared/runtime/operate/patch-task.ts'
import { MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import { aLimitedWorld, type LimitedWorld } from '../../support/worlds/limited-world.ts'

/** What happens to waiting tasks once a period. */
const disturbance = fc.record({
  what: fc.constantFrom('nothing', 'cancel', 'patch', 'overtake', 'expire', 'tenant', 'concurrency'),
  count: fc.integer({ min: 1, max: 4 }),
})
const PERIODS = 24
const TEN = 10

async function disturb(
  world: LimitedWorld,
  { what, count }: { readonly what: string; readonly count: number },
  nth: number,
  config: object,
): Promise<void> {
  const open = [...world.world.heads.values()].filter(head => head.type === 'mail' && head.state === 'open')
  const some = open.slice(0, count)
  for (const { id } of what === 'cancel' ? some : []) await cancelTask(world.world.system, id)
  for (const { id } of what === 'patch' ? some : [])
    await patchTask(world.world.system, id, { tags: { nth: String(nth) } })
  for (let one = 0; one < count && what === 'overtake'; one++)
    await world.publish({ key: `urgent${nth}-${one}`, priority: 9 })
  for (let one = 0; one < count && what === 'expire'; one++)
    await world.publish({ key: `short${nth}-${one}`, priority: 9, options: { deadlineMs: 3 * SECOND } })
  if (what === 'tenant') await world.publish({ key: `tenant${nth}`, fairnessKey: `t${count}` })
  if (what === 'concurrency')
    world.deploy({ ...config, limits: { ...limitsOf(config), concurrency: { max: 5 + count } } } as never)
}

function limitsOf(config: object): object {
  return (config as { limits: object }).limits
}

/** The fewest and the most starts in ten periods and in one, wherever they begin. */
function spans(starts: readonly number[], perMs: number) {
  const end = PERIODS * perMs
  const begins = Array.from({ length: PERIODS - TEN - 1 }, (_, nth) => nth * perMs)
  const inTen = begins.map(from => starts.filter(at => at >= from && at < from + TEN * perMs).length)
  const inOne = starts
    .filter(at => at < end)
    .map(at => starts.filter(one => one >= at && one < at + perMs).length)
  return { fewestInTen: Math.min(...inTen), mostInOne: Math.max(...inOne) }
}

it('tasks start at nine tenths of their rate limit or more, less one, whatever happens to those that wait', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(
        { limit: 1, perMs: 10 * SECOND },
        { limit: 6, perMs: MINUTE },
        { limit: 5, perMs: 2 * SECOND },
      ),
      fc.constantFrom('arrival', 'priority', 'aged'),
      fc.array(disturbance, { minLength: PERIODS, maxLength: PERIODS }),
      async (rate, ordering, disturbances) => {
        const config = { ordering, limits: { rate } } as never
        const world = await aLimitedWorld(config)
        const backlog = rate.limit * PERIODS + 100
        for (let nth = 0; nth < backlog; nth++) await world.publish({ key: `k${nth}` })

        for (const [nth, one] of disturbances.entries()) {
          await disturb(world, one, nth, config)
          await world.pass(rate.perMs)
        }

        const starts = world.starts.map(({ at }) => at)
        const { fewestInTen, mostInOne } = spans(starts, rate.perMs)
        expect(fewestInTen).toBeGreaterThanOrEqual(Math.floor(0.9 * TEN * rate.limit) - 1)
        expect(mostInOne).toBeLessThanOrEqual(rate.limit)
      },
    ),
    { numRuns: Number(process.env.RUNS ?? 4) },
  )
})

it('a permit that is given back is taken by the next task within a second, whatever happens to those that wait', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(disturbance, { minLength: 20, maxLength: 20 }), async disturbances => {
      const config = { limits: { concurrency: { max: 3 } } } as never
      const world = await aLimitedWorld(config)
      for (let nth = 0; nth < 80; nth++) await world.publish({ key: `k${nth}` })
      for (const [nth, one] of disturbances.entries()) {
        if (one.what !== 'concurrency') await disturb(world, one, nth, config)
        await world.pass(SECOND)
      }
      await world.pass(5 * MINUTE)

      const open = [...world.world.heads.values()].filter(
        head => head.type === 'mail' && head.state === 'open',
      )
      expect(open).toEqual([])
    }),
    { numRuns: 3 },
  )
})
