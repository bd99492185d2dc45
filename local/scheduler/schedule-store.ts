import { arnOf } from '../account.ts'
import type { StateFile } from '../data-folder/state-file.ts'
import type { Schedule, ScheduleRequest } from './schedule.ts'

type Group = { readonly Name: string; readonly Arn: string; readonly CreationDate: number }

export type KeptSchedules = {
  readonly groups: Readonly<Record<string, Group>>
  /** The schedules by `group/name`. */
  readonly schedules: Readonly<Record<string, Schedule>>
}

export const noSchedules: KeptSchedules = { groups: {}, schedules: {} }

export type ScheduleStore = {
  group(name: string): Group | undefined
  groups(): Group[]
  putGroup(name: string, now: number): Group
  /** Deletes the group and its schedules. */
  deleteGroup(name: string): void
  find(group: string, name: string): Schedule | undefined
  list(): Schedule[]
  /** Creates a schedule, or replaces all of it as UpdateSchedule does. */
  put(group: string, name: string, request: ScheduleRequest, now: number): Schedule
  markFired(schedule: Schedule, at: number): void
  delete(schedule: Schedule): void
}

/** Schedules by group and name. They are kept in the state's file if it has one. */
export function createScheduleStore(state: StateFile<KeptSchedules>, now: number): ScheduleStore {
  // There is one working copy: rebuilding the kept value at every change would cost n² for many schedules.
  const groups = new Map(Object.entries(state.read().groups))
  const schedules = new Map(Object.entries(state.read().schedules))
  const save = () => state.write(snapshot)
  const snapshot = {
    get groups() {
      return Object.fromEntries(groups)
    },
    get schedules() {
      return Object.fromEntries(schedules)
    },
  }

  function putGroup(name: string, at: number) {
    const group = { Name: name, Arn: arnOf('scheduler', `schedule-group/${name}`), CreationDate: at / 1000 }
    groups.set(name, group)
    save()
    return group
  }

  if (!groups.has('default')) putGroup('default', now)

  return {
    group: name => groups.get(name),
    groups: () => [...groups.values()],
    putGroup,
    deleteGroup: name => {
      groups.delete(name)
      for (const [key, { GroupName }] of schedules) if (GroupName === name) schedules.delete(key)
      save()
    },
    find: (group, name) => schedules.get(keyOf(group, name)),
    list: () => [...schedules.values()],
    put: (group, name, request, at) => {
      const before = schedules.get(keyOf(group, name))
      const schedule = {
        ...request,
        Name: name,
        GroupName: group,
        Arn: arnOf('scheduler', `schedule/${group}/${name}`),
        CreationDate: before?.CreationDate ?? at / 1000,
        LastModificationDate: at / 1000,
      }
      schedules.set(keyOf(group, name), schedule)
      save()
      return schedule
    },
    markFired: (schedule, at) => {
      const key = keyOf(schedule.GroupName, schedule.Name)
      if (!schedules.has(key)) return
      schedules.set(key, { ...schedule, firedAt: at })
      save()
    },
    delete: ({ GroupName, Name }) => {
      schedules.delete(keyOf(GroupName, Name))
      save()
    },
  }
}

const keyOf = (group: string, name: string) => `${group}/${name}`
