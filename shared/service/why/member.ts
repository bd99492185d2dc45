import { pathOf } from '../../api/endpoints.ts'
import type { MemberFacts } from '../../core/status/why-facts.ts'
import { countText } from './words.ts'

/** The reason, the sentence and the next step of a member of a canvas that is not published. */
export function explainMember({ id, canvasId, members, ended, state }: MemberFacts) {
  const counted =
    ended === undefined
      ? ` of ${countText(members, 'member')}`
      : `: ${ended} of ${countText(members, 'member')} have ended`
  const read = `GET ${pathOf('getCanvas', canvasId)} shows its members.`
  switch (state) {
    case 'pending':
      return {
        status: 'pending' as const,
        reason: 'canvas' as const,
        sentence: `${id} waits for other members of ${canvasId}${counted}; it is published when those before it have ended.`,
        next: `Nothing need be done. ${read}`,
      }
    case 'about-to-start':
      return {
        status: 'pending' as const,
        reason: 'canvas' as const,
        sentence: `${id} waits for no other member of ${canvasId}, and is about to be published${counted}.`,
        next: `Nothing need be done: the sweeper publishes what was lost within some minutes. ${read}`,
      }
    case 'skipped':
      return {
        status: 'skipped' as const,
        reason: 'skipped' as const,
        sentence: `${id} never runs: a member of ${canvasId} before it failed, or it is for a failure that did not happen.`,
        next: `Nothing need be done. ${read}`,
      }
    case 'cancelled':
      return {
        status: 'cancelled' as const,
        reason: 'skipped' as const,
        sentence: `${id} never runs: ${canvasId} was cancelled before it was published.`,
        next: `Publish the canvas again if its work is still wanted. ${read}`,
      }
  }
}
