import { countText } from './words.ts'

/** What is known of a member of a canvas that is not published. The counts are of the canvas's other members. */
export type MemberFacts = {
  readonly id: string
  readonly canvasId: string
  /** The path of the canvas in the HTTP API. */
  readonly path: string
  readonly members: number
  /** How many members have ended; undefined when the canvas has too many to count them for one answer. */
  readonly ended?: number
  readonly state: 'pending' | 'skipped' | 'cancelled' | 'about-to-start'
}

/** The reason, the sentence and the next step of a member of a canvas that is not published. */
export function explainMember({ id, canvasId, path, members, ended, state }: MemberFacts) {
  const counted =
    ended === undefined
      ? ` of ${countText(members, 'member')}`
      : `: ${ended} of ${countText(members, 'member')} have ended`
  const read = `GET ${path} shows its members.`
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
