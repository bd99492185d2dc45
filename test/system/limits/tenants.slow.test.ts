import { beforeAll, expect, it } from 'vitest'
import { hash32 } from '../../../shared/core/values/text.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

/** Names whose hashes are equal modulo 64, and so modulo all smaller powers of two. */
const [LARGE = '', ...SMALL] = Array.from({ length: 20_000 }, (_, nth) => `tenant-${nth}`)
  .filter(name => hash32(name) % 64 === 7)
  .slice(0, 41)
const [CLAIMERS, EACH] = [4, 10]
/** The tasks that exact turns claim, and the tasks of two claims under way per claimer. */
const BOUND = 82 + 2 * CLAIMERS * EACH

type Claim = { readonly task: { readonly fairnessKey: string }; readonly run: { readonly startedAt: string } }

const system = aLocalSystem()

beforeAll(async () => {
  system.cloud.scheduler.disable('Sweep')
  await system.call('PUT', '/v1/types/bulk', { kind: 'http', defaults: { leaseMs: 600_000 } })
})

const publishFor = (tenants: readonly string[], count: number) =>
  system.publishAll(tenants.flatMap(fairnessKey => Array(count).fill({ type: 'bulk', fairnessKey })))

/** Lets several workers claim, each one call after the other, until together they have at least `count` claims. */
async function claimedTogether(count: number): Promise<Claim[]> {
  const claims: Claim[] = []
  const work = async (workerId: string) => {
    while (claims.length < count) {
      const { body } = await system.call('POST', '/v1/claims', { type: 'bulk', workerId, limit: EACH })
      claims.push(...body.claims)
    }
  }
  await Promise.all(Array.from({ length: CLAIMERS }, (_, nth) => work(`w${nth}`)))
  return claims
}

it('tenants whose names share a hash take turns among several workers', async () => {
  await publishFor([LARGE], 400)
  await publishFor(SMALL, 2)

  const claims = await claimedTogether(BOUND + EACH)

  const order = claims.sort((a, b) => Date.parse(a.run.startedAt) - Date.parse(b.run.startedAt))
  const tenants = order.map(({ task }) => task.fairnessKey)
  expect(tenants.filter(name => name !== LARGE)).toHaveLength(80)
  const last = tenants.findLastIndex(name => name !== LARGE)
  if (process.env.MEASURE) console.log(`measured: the last task of a small tenant is claim ${last + 1}`)
  expect(last).toBeLessThan(BOUND)
}, 120_000)
