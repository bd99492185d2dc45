import { describe, expect, it } from 'vitest'
import { CONVERSATION, recordExamples } from '../../openapi/examples/examples.ts'
import type { Step } from '../../openapi/examples/exchange.ts'
import { createMemoryStage } from '../../openapi/examples/memory-stage.ts'
import { play } from '../../openapi/examples/play.ts'
import { ALL_OPERATIONS } from '../../shared/service/operations.ts'
import { readContract } from '../support/conformance/contract.ts'

const contract = readContract()
const playing = (...steps: Step[]) => play(ALL_OPERATIONS, steps, createMemoryStage(ALL_OPERATIONS))
const health = { operation: 'health', name: 'answers', title: 'The API answers', status: 200, asks: {} }

describe('the conversation of the document', () => {
  it('keeps the document in every answer', async () => {
    const recorded = await recordExamples(ALL_OPERATIONS)

    const faults = recorded
      .filter(({ isStream, operation }) => !isStream && operation !== 'events')
      .flatMap(({ operation, name, answer }) => {
        const of = contract.operations.find(each => each.name === operation)
        const text = answer.body === undefined ? '' : JSON.stringify(answer.body)
        return of
          ? contract.faultsOf(of, { ...answer, text }).map(fault => `${operation} ${name}: ${fault}`)
          : []
      })

    expect(faults).toEqual([])
  })

  it('names each exchange of an operation differently', () => {
    const names = CONVERSATION.flatMap(step => ('operation' in step ? `${step.operation} ${step.name}` : []))

    expect(new Set(names).size).toBe(names.length)
  })

  it('ends with a reason when an answer has another status, and says what was answered', async () => {
    await expect(playing({ ...health, status: 204 })).rejects.toThrow(
      'the example answers of health expects 204, but GET /healthz was answered with 200: {"status":"ok","version":"1.4.2"}',
    )
  })

  it('ends with a reason when an exchange needs what does not come before it, or has no route', async () => {
    const needing = {
      ...health,
      asks: (told: (operation: string, name: string) => unknown) => told('get', 'x') as object,
    }

    await expect(playing(needing)).rejects.toThrow('no exchange x of get comes before the one that needs it')
    await expect(playing({ ...health, operation: 'heal' })).rejects.toThrow(
      'the examples name the operation heal, which does not exist',
    )
  })

  it('ends with a reason when what it waits for does not happen, or cannot be lost', async () => {
    await expect(playing({ path: '/healthz', until: () => false })).rejects.toThrow(
      'what is awaited of /healthz does not happen',
    )
    await expect(playing({ lost: 'resize:none' })).rejects.toThrow(
      'there is no task resize:none whose message can be lost',
    )
  })
})
