import type { Task } from '../../../shared/core/task/task.ts'
import type { HistoryEvent } from '../world/history.ts'
import { START } from '../world/world.ts'

/** An event as a line of a trace. */
export function lineOf(event: HistoryEvent): string {
  const time = ((event.at - START) / 1_000).toFixed(3).padStart(10)
  return `${time}  ${event.by.padEnd(18)}  ${textOf(event)}`
}

/** The stack of an error, or its text when it has none. */
export function stackOf(error: unknown): string {
  return (error instanceof Error && error.stack) || String(error)
}

function textOf(event: HistoryEvent): string {
  switch (event.what) {
    case 'minute':
      return 'a minute has passed'
    case 'note':
      return event.text
    case 'unexpected-error':
      return `FAILS: ${event.error}`
    case 'type': {
      const { type, paused, isFair, version, configuration } = event.type
      const { limits, ordering } = configuration
      return `WRITES type ${type} v${version} ${JSON.stringify({ paused, isFair, limits, ordering })}`
    }
    case 'permit': {
      const { limit, holder, isHeld } = event
      return `${isHeld ? 'GRANTS' : 'RELEASES'} the permit of ${holder} under ${limit}`
    }
    case 'ended':
      return `ENDS ${event.id} (fence ${event.fence}): ${event.end}`
    case 'dispatched':
      return `SENDS a dispatch of ${event.id} r${event.revision}`
    case 'look-received':
      return `RECEIVES a look at ${event.id}`
    case 'line-look':
      return `RECEIVES a look at the line ${event.look.line.kind} ${event.look.line.limit}${event.look.released ? ` after ${event.look.released} were given back` : ''}`
    case 'request':
      return `CARRIES OUT ${event.request}`
    case 'refused':
      return `REFUSES ${event.why}`
    case 'claimed':
      return `GETS ${event.tasks} tasks in ${event.bytes} bytes`
    case 'damaged':
      return `DAMAGES ${event.id}: it is ${event.how}`
    case 'touched':
      return `WRITES ${event.id}, which is damaged`
    case 'buried':
      return `BURIES ${event.id} r${event.after.revision} fence ${event.after.fence}`
    case 'left-out':
      return `LOGS that ${event.id} is left out`
    case 'body': {
      const { id, ref, expiresAt } = event
      return expiresAt === undefined
        ? `DELETES ${ref} of ${id}`
        : `STORES ${ref} of ${id} until ${expiresAt - START}`
    }
    case 'expired':
      return `deletes ${event.id}, which has expired`
    case 'read':
      return `IS SHOWN ${event.operation} ${JSON.stringify({ ...event.params, ...event.query })}: ${event.status} ${JSON.stringify(event.body)}`
    case 'checked':
      return `CHECKS ${event.request.kind}: ${event.problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`
    case 'events':
      return `TAKES ${event.events.map(({ type, taskId }) => `${type} of ${taskId}`).join(', ')}`
    case 'at-rest':
      return 'all tasks are at rest'
    case 'changes-lost':
      return 'loses changes'
    case 'stuck':
      return `COUNTS ${event.tasks} stuck tasks of ${event.type}`
    case 'sent':
      return 'receives a message'
    case 'write': {
      const { after } = event
      const runs = Object.values(after.live).map(({ fence, workerId }) => `${fence} by ${workerId}`)
      return `WRITES ${after.operation} ${after.id} r${after.revision} ${after.state}${pieceOf(after)} due ${after.dueAt - START} fence ${after.fence} live [${runs.join(', ')}] failures ${after.failures}`
    }
    case 'answer': {
      const { task: _task, ...rest } = { task: undefined, ...event.answer }
      return `IS ANSWERED ${event.step.do} ${JSON.stringify(rest)}`
    }
    case 'report-answer': {
      const { reported, refused, id, fence } = event
      const answer = refused === undefined ? 'is accepted' : `is refused: ${refused}`
      return `IS ANSWERED that ${JSON.stringify(reported)} of ${id} (fence ${fence}) ${answer}`
    }
    case 'began': {
      const { id, fence, piece, workerId } = event
      return `BEGINS ${id}${piece === undefined ? '' : ` at ${piece}`} (fence ${fence}) as ${workerId}`
    }
    case 'delivered':
      return `RECEIVES a dispatch of ${event.task.id} r${event.task.revision}${pieceOf(event.task)}`
  }
}

/** The step or stage of a task, and whether it owes callbacks. */
function pieceOf({ flow, stage, owes }: Task): string {
  const states = Object.entries(flow?.steps ?? {}).map(([at, { state }]) => `${at} ${state}`)
  const piece = flow
    ? ` at ${flow.direction} ${flow.presentStep} (${states.join(', ')})`
    : stage && ` at ${stage}`
  return `${piece ?? ''}${owes ? ' owing' : ''}`
}
