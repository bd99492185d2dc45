import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { createDice, type Dice } from '../generate/dice.ts'
import type { Write } from '../invariants/invariant.ts'
import { type Api, NoAnswer } from '../world/aws/api.ts'
import type { Table } from '../world/aws/table.ts'
import type { Question } from '../world/history.ts'
import { createProcess } from '../world/process.ts'
import { type SeenHead, seenAs } from '../world/seen-head.ts'
import { START, type World } from '../world/world.ts'
import { askRoute } from './api-routes.ts'

/**
 * Readers: callers that only read. They ask the API at random moments of the scenario, soon after a task has changed, and once more about
 * everything when all tasks are at rest. Their answers are recorded for the invariants.
 */
export type Readers = {
  /** Tells them of a change, about which they may ask. */
  see(write: Write): void
  /** Asks about all tasks and types. Resolves when every question is answered. */
  surveyAll(): Promise<void>
}

/** Long scenarios have longer pauses, so that the questions come at all times of theirs. */
const PAUSE_MS = { least: 200, most: 3_500 }
/** Questions of one scenario before it is at rest: at random moments, and about changes. */
const QUESTIONS_MAX = { random: 20, changes: 30 }
/** The share of the changes that lead to a question. Most changes are claims and successes, which other questions find, too. */
const ASKED = { usual: 0.08, rare: 0.5 }
const USUAL: ReadonlySet<string> = new Set(['publish', 'claim', 'beat', 'succeed', 'settle'])
/** When a question about a change comes. A delay may be told wrongly for as long as it lasts, and a task may be stuck after 15 minutes. */
const AFTER_MS = { soon: 400, later: 20_000, stuck: 15 * 60_000 }
/** Some questions come after the storm, while the last tasks end. */
const READING_ON_MS = 20_000
/** Tasks of a survey. Few scenarios have more. */
const SURVEYED_MAX = 60
/** Values of a limit's key in a survey. */
const VALUES_MAX = 2
const TRIES_MAX = 6

type Tools = { readonly api: Api; readonly table: Pick<Table, 'heads'> }

export function startReaders(world: World, tools: Tools): Readers {
  const { timeline, scenario } = world
  const dice = createDice(createSeededChance(world.seedOf('readers')))
  const soon = createDice(createSeededChance(world.seedOf('readers of changes')))
  const longestPause = Math.max(PAUSE_MS.most, Math.round((2 * scenario.calmAt) / QUESTIONS_MAX.random))
  let [asked, followed] = [0, 0]
  const readOn = () => {
    timeline.at(timeline.now() + dice.between(PAUSE_MS.least, longestPause), () => {
      if (asked >= QUESTIONS_MAX.random || timeline.now() > START + scenario.calmAt + READING_ON_MS) return
      const question = randomQuestion(dice, world, tasksIn(tools))
      asked += 1
      if (question) void ask(world, tools, question)
      readOn()
    })
  }
  if (scenario.hasReaders) readOn()
  return {
    see: ({ after }) => {
      if (!scenario.hasReaders || followed >= QUESTIONS_MAX.changes || after.canvas || after.schedule) return
      if (!soon.odds(USUAL.has(after.operation) ? ASKED.usual : ASKED.rare)) return
      followed += 1
      const question = about(soon.pick(['why', 'get'] as const), { id: after.id })
      timeline.at(timeToAskAbout(after, soon, timeline.now()), () => void ask(world, tools, question))
    },
    surveyAll: async () => {
      if (!scenario.hasReaders) return
      const canvases = headsIn(tools).filter(({ canvas }) => canvas)
      const questions = [
        ...surveyOf(world, tasksIn(tools)),
        ...canvases.map(({ id }) => about('getCanvas', { id }, { limit: 100 })),
      ]
      for (const question of questions) await ask(world, tools, question)
    },
  }
}

function timeToAskAbout({ dueAt }: SeenHead, dice: Dice, now: number): number {
  const kind = dice.pick(['soon', 'soon', 'soon', 'later', 'stuck'] as const)
  if (kind !== 'stuck') return now + dice.between(1, AFTER_MS[kind])
  return Math.max(now, dueAt) + AFTER_MS.stuck + dice.between(1_000, AFTER_MS.later)
}

function headsIn({ table }: Tools): SeenHead[] {
  return [...table.heads()].map(seenAs)
}

function tasksIn(tools: Tools): SeenHead[] {
  return headsIn(tools).filter(head => !head.canvas && !head.schedule)
}

/** Sends a question until it is answered, or until the caller dies. */
async function ask(world: World, { api }: Tools, question: Question): Promise<void> {
  const { timeline, history } = world
  const client = createProcess(world, `reader at ${timeline.now()}`)
  const death = new Promise<void>(resolve => client.onDeath(resolve))
  await Promise.race([death, untilAnswered()])
  client.kill('has its answer')

  async function untilAnswered() {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const from = timeline.now()
      try {
        const answer = await api.request(client, question.operation, (system, workers) =>
          askRoute(system, workers, question),
        )
        const at = timeline.now()
        return history.record({ at, by: client.name, what: 'read', from, ...question, ...answer })
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error
      }
    }
  }
}

function about(operation: string, params: Question['params'] = {}, query: Question['query'] = {}): Question {
  return { operation, params, query }
}

function randomQuestion(dice: Dice, world: World, tasks: readonly SeenHead[]): Question | undefined {
  const operation = dice.pick(['why', 'why', 'why', 'get', 'get', 'limitUsage', 'list'] as const)
  const { types } = world.scenario
  const type = dice.pick(types.map(setup => setup.type))
  const value = dice.odds(0.7) ? dice.pick(keyValuesIn(tasks)) : undefined
  if (types.length === 0) return undefined
  if (operation === 'limitUsage') return about('limitUsage', { type }, value === undefined ? {} : { value })
  if (operation === 'list') return about('list', {}, { type: [type], status: [dice.pick(STATUSES)] })
  // Open tasks are the ones whose state may be told wrongly.
  const open = tasks.filter(({ state }) => state === 'open')
  const some = open.length > 0 && dice.odds(0.8) ? open : tasks
  return some.length > 0 ? about(operation, { id: dice.pick(some).id }) : undefined
}

/** Values by which limits may count these tasks. */
function keyValuesIn(tasks: readonly SeenHead[]): string[] {
  const values = tasks.flatMap(({ userId, fairnessKey, input }) => {
    const { shop } = (input && 'inline' in input ? input.inline : {}) as { readonly shop?: string }
    return [userId, fairnessKey, shop].filter(value => value !== undefined)
  })
  return values.length > 0 ? [...new Set(values)] : ['u1']
}

const STATUSES = ['delayed', 'ready', 'running', 'compensating', 'succeeded', 'failed', 'cancelled']

function surveyOf({ scenario }: World, tasks: readonly SeenHead[]): Question[] {
  const types = [...scenario.types, ...scenario.flows].map(({ type }) => type)
  const values = keyValuesIn(tasks).slice(0, VALUES_MAX)
  const owners = new Set(tasks.flatMap(({ userId }) => userId ?? []))
  return [
    ...tasks.slice(0, SURVEYED_MAX).flatMap(({ id }) => [about('why', { id }), about('get', { id })]),
    ...types.flatMap(type => [
      about('limitUsage', { type }),
      ...values.map(value => about('limitUsage', { type }, { value })),
      about('list', {}, { type: [type], limit: 100 }),
      about('list', {}, { type: [type], status: ['failed', 'cancelled'], limit: 100 }),
    ]),
    ...[...owners].map(userId => about('list', {}, { userId, limit: 100 })),
    about('listCounts'),
    about('listActivity', {}, { minutes: 120 }),
    about('listFailures', {}, { limit: 100 }),
    about('listTypes'),
  ]
}
