import { afterEach, expect, it, vi } from 'vitest'
import { createTerminal } from '../../../cli/dev/terminal.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** A terminal whose lines are noted with the second in which they were printed. */
function aTerminal() {
  vi.useFakeTimers()
  const begun = performance.now()
  const printed: Array<readonly [second: number, line: string]> = []
  vi.spyOn(console, 'log').mockImplementation(line => {
    printed.push([(performance.now() - begun) / 1_000, line])
  })
  return { terminal: createTerminal({ verbose: false }, '/shop'), printed }
}

it('names what is under way before two seconds pass without a line, and nothing afterwards', async () => {
  const { terminal, printed } = aTerminal()
  const synthesis = Promise.withResolvers<void>()
  const bundling = Promise.withResolvers<void>()

  const first = terminal.during('synthesising the app', () => synthesis.promise)
  await vi.advanceTimersByTimeAsync(1_000)
  const second = terminal.during('bundling', () => bundling.promise)
  await vi.advanceTimersByTimeAsync(2_500)
  terminal.say('a line')
  synthesis.resolve()
  await first
  await vi.advanceTimersByTimeAsync(1_500)
  bundling.reject(new Error('no'))
  await expect(second).rejects.toThrow('no')
  await vi.advanceTimersByTimeAsync(60_000)

  expect(printed).toEqual([
    [1.5, '… synthesising the app (2 s), bundling (1 s)'],
    [3, '… synthesising the app (3 s), bundling (2 s)'],
    [3.5, 'a line'],
    [5, '… bundling (4 s)'],
  ])
})
