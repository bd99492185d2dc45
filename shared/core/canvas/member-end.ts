import type { Task } from '../task.ts'
import type { Member } from './canvas.ts'
import type { End } from './standing.ts'

/** How a task counts in its canvas: by its first end, for ever. Undefined while it has none. */
export function memberEnd({ member, state }: Task): { member: Member; end: End } | undefined {
  if (!member) return undefined
  if (member.first) return { member, end: member.first }
  if (state === 'open') return undefined
  return { member, end: state === 'succeeded' ? 'succeeded' : 'failed' }
}

/** Its canvas counts how a member ended first; one that is removed or started over while it waits has failed there. */
export function afterFirstEnd(member: Member, { state }: Task): Member {
  return { ...member, first: member.first ?? (state === 'succeeded' ? 'succeeded' : 'failed') }
}
