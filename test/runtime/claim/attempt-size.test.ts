import { describe, expect, it } from 'vitest'
import { firstAttempt, nextAttempt, scatteredAttempt } from '../../../shared/runtime/claim/candidates.ts'

const IN_ORDER = { size: 8, window: 0 }

describe('an attempt of a claim', () => {
  it.each([
    ['one task', 1, 1],
    ['a sixteenth of many', 100, 7],
  ])('tries first %s', (_case, wanted, size) => {
    expect(firstAttempt(wanted)).toEqual({ size, window: 0 })
  })

  it.each([
    [
      'doubles, when the last one lost none',
      IN_ORDER,
      { tried: 8, lost: 0 },
      { kind: 'same-window', size: 16, window: 0 },
    ],
    [
      'doubles, when the last one found fewer',
      IN_ORDER,
      { tried: 2, lost: 0 },
      { kind: 'same-window', size: 16, window: 0 },
    ],
    [
      'stays as large, when it lost a few',
      IN_ORDER,
      { tried: 8, lost: 2 },
      { kind: 'same-window', size: 8, window: 0 },
    ],
    [
      'gets a window, when it lost a third',
      IN_ORDER,
      { tried: 9, lost: 3 },
      { kind: 'new-window', window: 102 },
    ],
    [
      'gets a window of many, when it lost all',
      IN_ORDER,
      { tried: 4, lost: 4 },
      { kind: 'new-window', window: 272 },
    ],
    [
      'gets twice the window, when it loses again',
      { size: 17, window: 200 },
      { tried: 17, lost: 8 },
      { kind: 'new-window', window: 400 },
    ],
    [
      'gets no window beyond 500',
      { size: 17, window: 400 },
      { tried: 17, lost: 17 },
      { kind: 'new-window', window: 500 },
    ],
    [
      'takes at most a quarter of its window',
      { size: 17, window: 100 },
      { tried: 17, lost: 0 },
      { kind: 'same-window', size: 25, window: 100 },
    ],
  ] as const)('%s', (_case, last, outcome, expected) => {
    expect(nextAttempt(100, last, outcome)).toEqual(expected)
  })

  it.each([
    ['a sixth of the wanted tasks', 200, 17],
    ['fewer, when the index shows fewer', 20, 2],
    ['at least one', 0, 1],
  ])('in a new window tries %s', (_case, found, size) => {
    expect(scatteredAttempt(100, 200, found)).toEqual({ size, window: 200 })
  })
})
