import { Annotations, Match } from 'aws-cdk-lib/assertions'
import { describe, expect, it } from 'vitest'
import type { ScheduleFields } from '../../../shared/define/define-schedule.ts'
import { nightly } from '../fixtures/reports.ts'
import { aSystem, readTemplate } from '../synthesised.ts'

const REPORTS = 'test/infra/fixtures/reports.ts'
const WEEKLY = { everyMs: 604_800_000, task: { type: 'resize' } }

function aSystemWith(...schedules: Array<readonly [string, object]>) {
  const system = aSystem()
  system.tasks.addHandler('Resize', { entry: 'test/infra/fixtures/resize.ts' })
  for (const [id, schedule] of schedules) system.tasks.addSchedule(id, schedule as ScheduleFields)
  return system
}

describe('schedules in code', () => {
  it('are resources of their own, in the order of the types of their tasks, from files and from the app', () => {
    const { stack, tasks } = aSystem()
    tasks.addSchedule('Weekly', { ...WEEKLY, task: { ...WEEKLY.task, input: { at: stack.region } } })
    tasks.addSchedule('Same', nightly)
    tasks.addHandler('Report', { entry: REPORTS, task: 'report' })
    tasks.addHandler('Summary', { entry: REPORTS, task: 'summary' })
    tasks.addHandler('Resize', { entry: 'test/infra/fixtures/resize.ts' })
    const { ofType } = readTemplate(stack)

    const found = ofType('Custom::BatonSchedule')

    expect(found.map(({ Properties }) => Properties.schedule)).toEqual(['Weekly', 'nightly'])
    expect(JSON.stringify(found[0]?.Properties.body)).toContain('{"Ref":"AWS::Region"}')
    expect(JSON.parse(found[1]?.Properties.body)).toEqual(nightly.schedule)
    const registration = ofType('Custom::BatonType').find(({ Properties }) => Properties.type === 'report')
    expect(found[1]?.DependsOn).toEqual([registration?.id])
  })

  it('let the registrar change heads, which it may not without them', () => {
    const actions = ({ stack }: ReturnType<typeof aSystem>) =>
      JSON.stringify(
        readTemplate(stack).resources.filter(
          ({ id, Type }) => Type === 'AWS::IAM::Policy' && id.includes('Registrar'),
        ),
      )

    expect(actions(aSystemWith())).not.toContain('UpdateItem')
    expect(actions(aSystemWith(['Weekly', WEEKLY]))).toContain('UpdateItem')
  })

  it.each([
    ['a wrong cron', { cron: '* *' }, "schedule 'Bad': cron has 2 fields"],
    ['an unknown time zone', { cron: '* * * * *', timezone: 'Mars' }, "schedule 'Bad': timezone must be"],
    ['an unknown field', { everyMs: 60_000, every: 1 }, "schedule 'Bad': every is not a field"],
    ['no time', {}, "schedule 'Bad': cron is required"],
    [
      'a large input',
      { everyMs: 60_000, task: { type: 'resize', input: 'x'.repeat(100_000) } },
      'at most 100000',
    ],
  ])('are refused for %s', (_, fields, message) => {
    expect(() => aSystemWith(['Bad', { task: WEEKLY.task, ...fields }])).toThrow(message)
  })

  it('are refused when two different ones have one name', () => {
    expect(() => aSystemWith(['Weekly', WEEKLY], ['Weekly', { ...WEEKLY, everyMs: 60_000 }])).toThrow(
      "two schedules have the name 'Weekly'",
    )
  })

  it('are refused at synthesis when the app deploys no such type', () => {
    const { app } = aSystemWith(['Weekly', { ...WEEKLY, task: { type: 'resise' } }])

    expect(() => app.synth()).toThrow(
      "schedule 'Weekly': task.type must name a registered type; 'resise' is not",
    )
  })

  it('are named in a warning when their only time has passed', () => {
    const { stack } = aSystemWith(['Launch', { at: '2020-01-01T00:00:00Z', task: WEEKLY.task }])

    Annotations.fromStack(stack).hasWarning('*', Match.stringLikeRegexp("schedule 'Launch': at has passed"))
  })
})
