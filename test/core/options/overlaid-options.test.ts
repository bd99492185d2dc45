import { describe, expect, it } from 'vitest'
import { DEFAULT_OPTIONS, type PartialOptions, resolveOptions } from '../../../shared/core/options/options.ts'
import { overlaidOptions } from '../../../shared/core/options/overlaid-options.ts'

describe('overlaid options', () => {
  it.each<[PartialOptions, object]>([
    [{}, DEFAULT_OPTIONS],
    [{ leaseMs: 3_000 }, { leaseMs: 3_000, heartbeatMs: 1_000 }],
    [{ leaseMs: 1 }, { leaseMs: 1, heartbeatMs: 1 }],
    [{ heartbeatMs: 20_000 }, { heartbeatMs: 20_000, leaseMs: 60_000 }],
    [
      { heartbeatMs: 20_000, leaseMs: 20_001 },
      { heartbeatMs: 20_000, leaseMs: 20_001 },
    ],
    [{ retry: { delayMs: 300_000 } }, { retry: { delayMs: 300_000, maxDelayMs: 300_000 } }],
    [{ retry: { maxDelayMs: 10 } }, { retry: { delayMs: 10, maxDelayMs: 10 } }],
    [{ retry: { backoff: 'ladder', delaysMs: [1] } }, { retry: { backoff: 'ladder', delaysMs: [1] } }],
    [
      { concurrency: 2, workerIds: ['a', 'b'] },
      { concurrency: 2, workerIds: ['a', 'b'] },
    ],
  ])('adapt the other options to %j', (given, expected) => {
    expect(overlaidOptions(DEFAULT_OPTIONS, given)).toMatchObject({ ok: true, options: expected })
  })

  it.each<[PartialOptions, PartialOptions, string]>([
    [{}, { heartbeatMs: 5, leaseMs: 5 }, 'heartbeatMs'],
    [{}, { retry: { delayMs: 2, maxDelayMs: 1 } }, 'retry.maxDelayMs'],
    [{}, { retry: { delaysMs: [1] } }, 'retry.delaysMs'],
    [{}, { retry: { backoff: 'ladder' } }, 'retry.delaysMs'],
    [{}, { concurrency: 2, workerIds: ['a'] }, 'concurrency'],
    [{ concurrency: 2 }, { workerIds: ['a'] }, 'workerIds'],
  ])('over %j refuse %j at %s', (base, given, path) => {
    const overlaid = overlaidOptions(resolveOptions(base), given)

    expect(!overlaid.ok && overlaid.problems.map(problem => problem.path)).toEqual([path])
  })
})
