import { expect } from 'vitest'

/**
 * How much work the larger tests give the system. `TEST_SCALE=full` is what docs/measured.md tells of, on a machine that does
 * nothing else; `middle`, where a test has one, what two cores keep up with. By default tests show the same with less.
 */
export const scale = process.env.TEST_SCALE ?? 'usual'

export const isFullScale = scale === 'full'

export function scaled<Usual, Full>(usual: Usual, full: Full): Usual | Full {
  return isFullScale ? full : usual
}

/** Whether times are held to their bounds: only `npm run bench` does, on a machine that does nothing else. */
const holdsTimes = process.env.TEST_TIMES === 'held'

/** Holds a measured time to its bound where times are held; elsewhere a slow machine fails no test. */
export function expectWithin(tookMs: number, boundMs: number): void {
  expect(tookMs).toBeTypeOf('number')
  if (holdsTimes) expect(tookMs).toBeLessThanOrEqual(boundMs)
}
