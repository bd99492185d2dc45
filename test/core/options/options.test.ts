import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PartialOptions } from '../../../shared/core/options.ts'
import {
  DEFAULT_OPTIONS,
  optionDifferences,
  overlaidOptions,
  resolveOptions,
} from '../../../shared/core/options.ts'

describe('options in force', () => {
  it('are the documented ones of the system when nothing is given', () => {
    expect(resolveOptions()).toEqual({
      concurrency: 1,
      workerIds: [],
      heartbeatMs: 5_000,
      leaseMs: 15_000,
      retentionMs: 7 * 86_400_000,
      retry: {
        maxRetries: 3,
        backoff: 'exponential',
        delayMs: 1_000,
        maxDelayMs: 60_000,
        jitter: 0,
        scope: 'task',
        localRetries: 0,
      },
    })
  })

  it.each<[string, PartialOptions[], PartialOptions]>([
    ["the type's default holds", [{ leaseMs: 9 }, {}], { leaseMs: 9 }],
    ["the task's own wins over its type's", [{ leaseMs: 9 }, { leaseMs: 7 }], { leaseMs: 7 }],
    [
      'retry is overlaid member by member',
      [{ retry: { maxRetries: 9, backoff: 'fixed' } }, { retry: { backoff: 'fibonacci' } }],
      { retry: { ...DEFAULT_OPTIONS.retry, maxRetries: 9, backoff: 'fibonacci' } },
    ],
    ['a list replaces a list', [{ workerIds: ['a', 'b'] }, { workerIds: ['c'] }], { workerIds: ['c'] }],
    ['zero and empty are given values', [{ workerIds: ['a'] }, { workerIds: [] }], { workerIds: [] }],
  ])('%s', (_name, layers, expected) => {
    expect(resolveOptions(...layers)).toEqual({ ...DEFAULT_OPTIONS, ...expected })
  })

  it('an undefined member of a layer changes nothing and leaves no trace', () => {
    const layer = { timeoutMs: undefined, leaseMs: undefined, retry: { delaysMs: undefined } }

    const options = resolveOptions(layer as unknown as PartialOptions)

    expect(options).toEqual(DEFAULT_OPTIONS)
    expect(Object.keys(options)).not.toContain('timeoutMs')
  })
})

describe('the stored form of options', () => {
  it('of the defaults is empty', () => {
    expect(optionDifferences(DEFAULT_OPTIONS)).toEqual({})
  })

  it('names exactly what differs', () => {
    const options = resolveOptions({ timeoutMs: 5, leaseMs: 15_000, retry: { jitter: 0.1 } })

    expect(optionDifferences(options)).toEqual({ timeoutMs: 5, retry: { jitter: 0.1 } })
  })

  it('resolves to the options that it was made of', () => {
    const some = fc.record(
      {
        concurrency: fc.integer({ min: 1, max: 3 }),
        workerIds: fc.array(fc.string(), { maxLength: 2 }),
        minWorkerVersion: fc.constantFrom('1', '2.0'),
        heartbeatMs: fc.constantFrom(5_000, 6_000),
        timeoutMs: fc.nat(),
        deadlineMs: fc.nat(),
        retry: fc.record(
          { maxRetries: fc.nat(4), delaysMs: fc.array(fc.nat()), scope: fc.constantFrom('task', 'worker') },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    )

    const property = fc.property(some, some, (type, task) => {
      const options = resolveOptions(type, task)
      expect(resolveOptions(optionDifferences(options))).toEqual(options)
    })
    fc.assert(property)
  })
})

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
