import { shellWord } from '../say.ts'
import type { SystemOptions } from './system.ts'

/** Writes a command that a reader can paste: `followUp('cancel', 'order-7')` is `baton cancel order-7 --stack Shop`. */
export type FollowUp = (...words: readonly string[]) => string

const NAMED_BY = ['url', 'stack', 'profile', 'region'] as const

/** Makes the writer of commands that speak to the same system as the present one, which these options name. */
export function followUpOf(options: SystemOptions): FollowUp {
  const system = NAMED_BY.flatMap(name => {
    const value = options[name]
    return value === undefined ? [] : [`--${name}`, value]
  })
  return (...words) => ['baton', ...[...words, ...system].map(shellWord)].join(' ')
}
