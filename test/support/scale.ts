/**
 * How much work the larger tests give the system. docs/measured.md reports `TEST_SCALE=full` on a machine that does nothing
 * else. Two cores keep up with `middle`, where a test has it. By default the tests show the same with less work.
 */
export const scale = process.env.TEST_SCALE ?? 'usual'

export const isFullScale = scale === 'full'

export function scaled<Usual, Full>(usual: Usual, full: Full): Usual | Full {
  return isFullScale ? full : usual
}
