import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { beforeAll, describe, expect, it } from 'vitest'
import { BatonError, isItemFault, isOutage } from '../../shared/core/values/values.ts'
import { defineTask } from '../../shared/define/define-task.ts'
import * as own from '../../shared/index.ts'
import { outcomeOfResult, outcomeOfThrown } from '../../shared/runtime/handler/handler.ts'
import { aFolder } from '../support/a-folder.ts'

/** The library as a user's project has it, next to the copy in the prebuilt executor, which this repository's sources stand for. */
let users: typeof own

beforeAll(async () => {
  const outfile = join(aFolder(), 'index.mjs')
  await build({ entryPoints: ['shared/index.ts'], bundle: true, format: 'esm', platform: 'node', outfile })
  users = await import(pathToFileURL(outfile).href)
})

it('the copies are two', () => {
  expect(users.Fatal).not.toBe(own.Fatal)
  expect(users.defineTask).not.toBe(defineTask)
})

describe("the executor recognises a signal of the user's copy", () => {
  it('Fatal', () => {
    expect(outcomeOfThrown(new users.Fatal('no'))).toMatchObject({ outcome: 'fail', fatal: true })
  })

  it('Fatal as the cause of another error', () => {
    const wrapped = new Error('while charging', { cause: new users.Fatal('no') })

    expect(outcomeOfThrown(wrapped)).toMatchObject({ outcome: 'fail', fatal: true })
  })

  it('a class that extends Fatal', () => {
    class CardRefused extends users.Fatal {}

    expect(outcomeOfThrown(new CardRefused('no'))).toMatchObject({ outcome: 'fail', fatal: true })
  })

  it('RetryLater', () => {
    expect(outcomeOfThrown(new users.RetryLater(700))).toMatchObject({ outcome: 'fail', retryInMs: 700 })
  })

  it('Release, thrown and returned', () => {
    const released = { outcome: 'release', delayMs: 700 }

    expect(outcomeOfThrown(new users.Release(700))).toEqual(released)
    expect(outcomeOfResult(new users.Release(700))).toEqual(released)
  })

  it('Next', () => {
    const next = new users.Next('store', { priority: 4, result: { bytes: 3 } })

    expect(outcomeOfResult(next)).toEqual({
      outcome: 'succeed',
      result: { bytes: 3 },
      next: { stage: 'store', priority: 4 },
    })
  })

  it('an error that is not a signal', () => {
    expect(outcomeOfThrown(new users.BatonError('invalid', 'no'))).toMatchObject({ outcome: 'fail' })
    expect(outcomeOfThrown(new users.BatonError('invalid', 'no'))).not.toHaveProperty('fatal')
  })
})

describe('an error of Baton', () => {
  it('of the executor is one for the handler, which has the other copy', () => {
    expect(new BatonError('unavailable', 'no answer')).toBeInstanceOf(users.BatonError)
  })

  it("of the user's copy is judged by its code", () => {
    expect(isItemFault(new users.BatonError('too-large', 'no'))).toBe(true)
    expect(isOutage(new users.BatonError('unavailable', 'no'))).toBe(true)
    expect(isOutage(new users.BatonError('invalid', 'no'))).toBe(false)
  })

  it('of the client is one in the other copy', () => {
    const problem = { type: 'not-found', title: 'Not found', status: 404, detail: 'no task' } as const

    expect(new users.ProblemError(problem as never)).toBeInstanceOf(own.ProblemError)
  })
})

describe('recognising a copy', () => {
  it('does not take one signal for another, nor a plain object for a signal', () => {
    expect(new users.Fatal('no')).not.toBeInstanceOf(own.RetryLater)
    expect(new users.Fatal('no')).not.toBeInstanceOf(own.BatonError)
    expect({ name: 'Fatal', message: 'no' }).not.toBeInstanceOf(own.Fatal)
    expect(null).not.toBeInstanceOf(own.Fatal)
    expect('Fatal').not.toBeInstanceOf(own.Fatal)
  })

  it('leaves a subclass its own instances', () => {
    class CardRefused extends own.Fatal {}

    expect(new CardRefused('no')).toBeInstanceOf(CardRefused)
    expect(new own.Fatal('no')).not.toBeInstanceOf(CardRefused)
    expect(new users.Fatal('no')).not.toBeInstanceOf(CardRefused)
  })
})
