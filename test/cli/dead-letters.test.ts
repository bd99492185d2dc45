import { describe, expect, it } from 'vitest'
import { jsonLines, runOn } from '../support/cli/a-terminal.ts'
import { anApiPerTest } from '../support/http/an-api.ts'
import { aLetter } from '../support/tasks/a-letter.ts'
import { NOW } from '../support/tasks/a-task.ts'

const api = anApiPerTest()

const baton = (...args: string[]) => runOn(api, ['dead-letters', ...args])

const LETTERS = Array.from({ length: 120 }, (_, nth) => aLetter({ messageId: `m${nth}`, sentAt: NOW - nth }))
const STREAM = aLetter({
  ...{ queue: 'stream', messageId: 's' },
  subject: { kind: 'changes', count: 1, shardId: 's' },
})

async function put(...letters: typeof LETTERS): Promise<void> {
  for (const letter of letters) await api.system.deadLetters.put(letter, '{}')
}

describe('baton dead-letters', () => {
  it('lists what was given up, with what happened', async () => {
    await put(...LETTERS.slice(0, 2), STREAM)

    const { code, out } = await baton('--queue', 'type:resize')
    const all = await baton('list', '--json')

    expect(code).toBe(0)
    expect(out).toMatch(/^DEAD LETTER +KIND +ABOUT/)
    expect(out).toContain(`${LETTERS[0]?.id}  dispatch  resize:a`)
    expect(out).toContain('The message that announces resize:a to workers was given up')
    expect(out).not.toContain('stream')
    expect(jsonLines(all.out).map(({ replayable }) => replayable)).toEqual([true, true, false])
    expect((await baton('--queue', 'wake')).err).toBe('no message was given up within the last 14 days\n')
  })

  it('says which queues there are, when a queue is wrong', async () => {
    const err = expect.stringContaining(
      'queue must be one of wake, jobs, stream, schedules, unknown, or type: and',
    )
    expect(await baton('--queue', 'resize')).toMatchObject({ code: 2, err })
  })

  it('sends dead letters again by their ids, and says which could not be sent', async () => {
    const [letter] = LETTERS
    await put(LETTERS[0]!, STREAM)

    const { code, out, err } = await baton('replay', letter!.id, STREAM.id, 'none')
    const asJson = await baton('replay', 'none', '--json')

    expect(code).toBe(1)
    expect(out).toBe(`${letter?.id} sent again\n`)
    expect(err).toContain(`${STREAM.id} cannot be sent again`)
    expect(err).toContain('there is no dead letter none')
    expect(JSON.parse(asJson.out)).toMatchObject({ id: 'none', status: 404 })
  })

  it('sends all of a queue again, page by page, after a question', async () => {
    await put(...LETTERS)
    const args = ['dead-letters', 'replay', '--queue', 'type:resize']

    const no = await runOn(api, args, { isTTY: true, input: 'n\n' })
    const unasked = await runOn(api, args)
    const yes = await runOn(api, args, { isTTY: true, input: 'y\n' })

    expect(no.err).toContain('Send 100 or more dead letters of type:resize again? [y/N]')
    expect([no.code, unasked.code, yes.code]).toEqual([1, 2, 0])
    expect(unasked.err).toContain('Give --yes')
    expect(yes.out.trim().split('\n')).toHaveLength(LETTERS.length)
    expect((await baton('replay', '--queue', 'type:resize', '--yes')).err).toBe(
      'type:resize has no dead letters\n',
    )
  })

  it('counts in its question only those that can be sent, and asks nothing when there are none', async () => {
    const inSchedules = (messageId: string, kind: 'round' | 'minute') =>
      aLetter({ queue: 'schedules', messageId, subject: { kind, minute: NOW } as never })
    const replay = (queue: string) =>
      runOn(api, ['dead-letters', 'replay', '--queue', queue], { isTTY: true, input: 'n\n' })
    await put(inSchedules('a', 'minute'), inSchedules('b', 'round'), STREAM)

    expect((await replay('schedules')).err).toContain('Send 1 dead letter of schedules again?')
    expect(await replay('stream')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no dead letter of stream can be sent again'),
    })
  })

  it.each([[['replay']], [['replay', 'a', '--queue', 'wake']]])('refuses %j', async args => {
    expect(await baton(...args)).toMatchObject({
      code: 2,
      err: expect.stringContaining('give either ids of dead letters or --queue'),
    })
  })
})

describe('baton doctor', () => {
  const doctor = () => runOn(api, ['doctor', '--json'])
  const found = (out: string) => jsonLines(out).find(({ check }) => check === 'dead letters')

  it('is content without dead letters, and reports those that wait to be sent again', async () => {
    const fine = found((await doctor()).out)
    await put(STREAM)
    const noticed = found((await doctor()).out)
    await put(LETTERS[0]!)
    const { code, out } = await doctor()

    expect(fine).toMatchObject({ level: 'fine' })
    expect(noticed).toMatchObject({ level: 'notice', next: expect.stringContaining('baton dead-letters') })
    expect(found(out)).toMatchObject({ level: 'wrong', text: expect.stringContaining('not sent again: 1, ') })
    expect(code).toBe(1)
  })

  it('names a command for each queue, which runs as it is', async () => {
    await put(
      LETTERS[0]!,
      aLetter({
        queue: 'wake',
        messageId: 'w',
        subject: { kind: 'look', taskId: 'resize:a', born: '01' } as never,
      }),
    )
    const { next } = found((await runOn(api, ['doctor', '--json', '--url', 'http://127.0.0.1:7070'])).out)
    const [causes = '', ...replays] = [...next.matchAll(/baton (.*? --url http:\/\/127\.0\.0\.1:7070)/g)].map(
      ([, words]) => words,
    )

    expect(replays.toSorted()).toEqual([
      'dead-letters replay --queue type:resize --url http://127.0.0.1:7070',
      'dead-letters replay --queue wake --url http://127.0.0.1:7070',
    ])
    for (const words of [causes, ...replays])
      expect(await runOn(api, words.split(' '), { isTTY: true, input: 'y\n' })).toMatchObject({ code: 0 })
  })
})
