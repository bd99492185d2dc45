import { describe, expect, it } from 'vitest'
import { headItem, taskFromItem } from '../../../../shared/aws/dynamo/head/items.ts'
import { remove } from '../../../../shared/core/operate/operate.ts'
import { aCanvas, aSchedule, NOW } from '../../../support/tasks/a-task.ts'

describe('the item of a canvas or a schedule', () => {
  it.each([
    ['canvas', aCanvas()],
    ['schedule', aSchedule()],
    ['removed canvas', remove(aCanvas(), NOW).after],
    ['removed schedule', remove(aSchedule(), NOW).after],
  ])('gives back the %s with the members of its kind only', (_name, head) => {
    expect(taskFromItem(headItem(head))).toEqual(head)
  })

  it.each([
    ['canvas', { ...headItem(aCanvas()), canvas: undefined }],
    ['schedule', { ...headItem(aSchedule()), sched: undefined }],
  ])('is refused if it lacks what a %s consists of', (_name, item) => {
    expect(() => taskFromItem(item)).toThrow(expect.objectContaining({ code: 'invalid' }))
  })
})
