/**
 * The types that the tasks of a type may name besides their own: as callbacks, and as steps of a flow.
 *
 * A program that may write heads of one type can write any head of it, with any callbacks and steps. So the permissions of IAM would end
 * at the planner, which publishes callbacks of every type. Deployment knows which programs are limited to which types. For each type
 * whose heads a limited program writes, it stores the types that all these programs may write. The planner and every claim compare.
 *
 * The bound belongs to the type and holds for all its tasks, because a head cannot prove which program wrote it.
 */

import { workOf } from '../task/piece.ts'
import type { Task } from '../task/task.ts'
import { stepTypes, type TaskType } from './task-type.ts'

/** Whether tasks of the type may have callbacks of the other type. Any type may, unless deployment has bound it. */
export function mayCall(type: Pick<TaskType, 'type' | 'otherTypes'> | undefined, other: string): boolean {
  return !type?.otherTypes || other === type.type || type.otherTypes.includes(other)
}

/** The refusal of a task of the type that names the other type. */
export function notAllowed(type: TaskType, other: string) {
  return { unknown: [], problems: [{ path: 'type', message: notAllowedText(type, other) }] }
}

/** Says which grant would allow tasks of the type to name the other type. */
export function notAllowedText({ type, otherTypes = [] }: TaskType, other: string): string {
  const legal = [type, ...otherTypes].map(one => `'${one}'`).join(', ')
  return (
    `must not be '${other}': a program may write tasks of '${type}' and none of '${other}'; ` +
    `add '${other}' to the otherTypes of the handlers, or the types of the grants, that reach '${type}'. Legal now: ${legal}`
  )
}

/**
 * Whether deployment allows the work that the head names: the type of a flow's present step, and a call of a webhook. The steps that the
 * configuration of a flow names, or has named, are always allowed, since no limited program writes configurations.
 */
export function mayDoWork(task: Task, types: ReadonlyArray<TaskType | undefined>): boolean {
  const { type, kind } = workOf(task)
  const typed = (name: string) => types.find(one => one?.type === name)
  if (kind === 'webhook' && typed(type)?.configuration.kind !== 'webhook') return false
  const own = typed(task.type)
  if (mayCall(own, type)) return true
  return own !== undefined && [...stepTypes(own.configuration), ...(own.formerSteps ?? [])].includes(type)
}
