/**
 * How much work the larger tests give the system. `TEST_SCALE=full` is what docs/measured.md tells of, on a machine that does
 * nothing else; `middle`, where a test has one, what two cores keep up with. By default tests show the same with less.
 */
export const scale = process.env.TEST_SCALE ?? 'usual'

export const isFullScale = scale === 'full'

export function scaled<Usual, Full>(usual: Usual, full: Full): Usual | Full {
  return isFullScale ? full : usual
}
