import { type DeadLetter, letterExpiresAt, replayQueueOf, typeOfQueue } from '../../core/dead-letters.ts'
import { countText, timeText } from './words.ts'

/** One sentence that says what was given up and what replaces it, and one that says what a caller can do. */
type LetterText = { readonly sentence: string; readonly next: string }

export function explainLetter(letter: DeadLetter, now: number): LetterText {
  const { receives, error, arrivedAt } = letter
  const [lost, replacement] = textsOf(letter, now)
  const after = receives > 0 ? `, after ${countText(receives, 'delivery', 'deliveries')}` : ''
  const reason = error === undefined ? '' : ` (${error})`
  return {
    sentence: `${lost} was given up before ${timeText(arrivedAt, now)}${after}${reason}; ${replacement}.`,
    next: `${causeText(letter)} ${replayText(letter, now)}`,
  }
}

/** What was given up, and what happens without the message. */
function textsOf({ subject, queue }: DeadLetter, now: number): readonly [lost: string, replacement: string] {
  switch (subject.kind) {
    case 'dispatch':
      return [
        `The message that announces ${subject.taskId} to workers`,
        'the sweeper sends another one as long as the task is due, some minutes apart',
      ]
    case 'look':
      return [`The message to look at ${subject.taskId}`, 'the sweeper looks at the task itself']
    case 'limit':
      return [
        `The message to admit tasks that wait for the limit ${subject.limit}`,
        'the sweeper sends another one while tasks wait for the limit',
      ]
    case 'minute':
      return [
        `The message to dispatch the tasks that are due in the minute from ${timeText(subject.dueAt, now)}`,
        'the sweeper wakes the minute itself, and dispatches what is overdue',
      ]
    case 'events': {
      const about = subject.taskId === undefined ? '' : `, the first about ${subject.taskId},`
      return [`A message with ${countText(subject.count, 'event')}${about}`, 'nothing replaces these events']
    }
    case 'canvas':
      return [`The message to continue ${subject.canvasId}`, 'the sweeper continues the canvas']
    case 'job':
      return [
        `The message to continue the job ${subject.job} of ${subject.type}`,
        'the sweeper continues the job, which is stored with the type',
      ]
    case 'changes':
      return [
        `A batch of ${countText(subject.count, 'change')} of the table`,
        'the sweeper plans these tasks from the table within two minutes of falling due, but their events and outcomes are not counted',
      ]
    case 'round':
      return ['A round of the sweeper', 'the next round begins within a minute']
    case 'unreadable':
      return [
        `A message of the queue ${queue} that this version cannot read`,
        'the sweeper replaces what tasks need',
      ]
  }
}

/** Where the cause shows. */
function causeText({ queue }: DeadLetter): string {
  const type = typeOfQueue(queue)
  if (type !== undefined) return `Read the log of the handler of ${type}: it does not start, or ends early.`
  const reader = { wake: 'waker', jobs: 'jobs function', stream: 'planner' } as const
  if (queue in reader) return `Read the errors of the ${reader[queue as keyof typeof reader]}.`
  if (queue === 'schedules') return 'Compare the error with the permissions of the schedule.'
  return 'Nothing says where it came from.'
}

function replayText(letter: DeadLetter, now: number): string {
  if (replayQueueOf(letter) !== undefined) {
    return `Then send it again: POST /v1/dead-letters/replay with {"ids": ["${letter.id}"]}.`
  }
  return `It cannot be sent again, and disappears at ${timeText(letterExpiresAt(letter), now)}.`
}
