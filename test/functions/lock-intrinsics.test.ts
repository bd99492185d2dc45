import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const MODULE = new URL('../../functions/lock-intrinsics.ts', import.meta.url).href

/** Runs each statement in a process with locked intrinsics. Returns the error that it throws, or `done`. */
async function triedInOwnProcess(statements: readonly string[]): Promise<string[]> {
  const script = `
    import { lockIntrinsics } from '${MODULE}'
    String.prototype.colour = () => 'patched as it was loaded'
    lockIntrinsics()
    const tried = ${JSON.stringify(statements)}.map(text => {
      try { return String(new Function('"use strict";' + text)() ?? 'done') } catch (error) { return error.name }
    })
    process.stdout.write(JSON.stringify(tried))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  return JSON.parse(stdout)
}

it('a handler that replaces an object of all tasks fails with its own error', async () => {
  const hostile = [
    'JSON.stringify = () => "{}"',
    'JSON.parse = () => 1',
    'Date.now = () => 0',
    'Math.random = () => 0',
    'Object.keys = () => []',
    'globalThis.Date = class {}',
    'globalThis.JSON = {}',
    'globalThis.setTimeout = () => 0',
    'Object.prototype.polluted = 1',
    'Array.prototype.polluted = 1',
    'Object.defineProperty(Object.prototype, "polluted", { value: 1, enumerable: true })',
  ]

  expect(await triedInOwnProcess(hostile)).toEqual(hostile.map(() => 'TypeError'))
})

it('usual statements of libraries still work', async () => {
  const usual = [
    'const one = {}; one.toString = () => "x"; one.stringify = 1',
    'class Thing { constructor() { this.constructor = 1; this.valueOf = () => 2 } } new Thing()',
    'const list = []; list.map = 1',
    'class Clock extends Date { static now() { return 5 } } return Clock.now()',
    'globalThis.mine = 1',
    'String.prototype.more = 1',
    'return "".colour()',
    'return JSON.stringify({ at: new Date(Date.now() * 0) })',
  ]

  expect(await triedInOwnProcess(usual)).toEqual([
    'done',
    'done',
    'done',
    '5',
    'done',
    'done',
    'patched as it was loaded',
    '{"at":"1970-01-01T00:00:00.000Z"}',
  ])
})
