import type { ApiRun, ApiTask } from '../../../../shared/api/tasks.ts'
import { allScripts } from '../../jobs-in.ts'
import { type OddErrorName, oddError, SHOWN_FIELDS } from '../../odd-errors.ts'
import type { HistoryEvent } from '../../world/history.ts'
import type { Invariant } from '../invariant.ts'

/** A stored error takes at most 4 KB as JSON in UTF-8, and so do the log lines that a failed run keeps. */
const ERROR_BYTES_MAX = 4_096
const LOG_BYTES_MAX = 4_096
/** An error that is cut leaves less than this of its room: a character, its ellipsis, and the frame of the error. */
const ROOM_LEFT_BYTES_MAX = 40

/** The record of a run, with its stack and log, is stored next to the head. It is there this long after the handler has ended. */
const RECORDED_MS = 10_000

type Run = Omit<ApiRun, 'error' | 'log'> & { readonly error?: Stored; readonly log?: string }
type Stored = {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly causes?: ReadonlyArray<{ readonly name: string; readonly message: string }>
}

/** Promises about the errors and the logs of failed runs. */
export const STORED_ERROR_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a failed run keeps the name, the message and the causes of what its handler threw, within the bound',
    watch: () => {
      const thrown = createThrown()
      return {
        on: event => {
          thrown.see(event)
          for (const [run, odd] of runsIn(event, thrown)) {
            const problem = odd && run.error ? problemOf(run.error, odd) : undefined
            if (problem)
              return `run ${run.id} threw ${odd} and keeps ${problem}: ${JSON.stringify(run.error).slice(0, 300)}`
          }
          return undefined
        },
      }
    },
  },
  {
    name: 'the log of a failed run keeps its newest lines and shows what is not a secret',
    watch: () => {
      const thrown = createThrown()
      return {
        on: event => {
          thrown.see(event)
          for (const [{ id, log }, odd] of runsIn(event, thrown)) {
            const fault = odd && logFault(log)
            if (fault) return `run ${id} ${fault}`
          }
          return undefined
        },
      }
    },
  },
  {
    name: 'no secret of an input is stored in an error or a log, or published',
    watch: ({ steps }) => {
      const secrets = allScripts(steps).flatMap(({ secret }) => secret ?? [])
      const isJudged = secrets.length > 0
      return {
        on: event => {
          if (!isJudged || (event.what !== 'read' && event.what !== 'events')) return undefined
          const text = textOf(event)
          const told = secrets.find(secret => tells(text, secret))
          return told && `${told} is told: ${text.slice(0, 500)}`
        },
      }
    },
  },
]

/** What is wrong with the log that a run keeps. */
function logFault(log: string | undefined): string | undefined {
  if (log === undefined) return 'keeps no log'
  const bytes = bytesOf(log)
  if (bytes > LOG_BYTES_MAX) return `keeps ${bytes} bytes of its log`
  const fields = JSON.stringify(SHOWN_FIELDS).slice(1, -1)
  return log.includes(fields) || bytes === LOG_BYTES_MAX
    ? undefined
    : `hides the plain fields of its log: ${log}`
}

/** What each run threw, and when. */
function createThrown() {
  const thrown = new Map<string, { readonly odd: OddErrorName; readonly at: number }>()
  const births = new Map<string, string>()
  return {
    see: (event: HistoryEvent) => {
      if (event.what === 'write') births.set(event.after.id, event.after.born)
      if (event.what !== 'ended' || !event.odd) return
      thrown.set(`${births.get(event.id)}.${event.fence}`, { odd: event.odd, at: event.at })
    },
    /** What the run threw, if its record is stored by this time. */
    by: (runId: string, time: number) => {
      const known = thrown.get(runId)
      return known && known.at + RECORDED_MS <= time ? known.odd : undefined
    },
  }
}

function runsIn(
  event: HistoryEvent,
  thrown: ReturnType<typeof createThrown>,
): Array<[Run, OddErrorName | undefined]> {
  if (event.what !== 'read' || event.operation !== 'get' || event.status !== 200) return []
  const { body, from } = event
  const runs = (body as ApiTask).runs as readonly Run[]
  return runs
    .filter(({ state }) => state === 'failed')
    .map((run): [Run, OddErrorName | undefined] => [run, thrown.by(run.id, from)])
}

function problemOf(stored: Stored, odd: OddErrorName): string | undefined {
  const { name, message, causes = [], isLong } = oddError(odd)
  const bytes = bytesOf(partsOf(stored))
  if (bytes > ERROR_BYTES_MAX) return `${bytes} bytes`
  if (isLong && bytes < ERROR_BYTES_MAX - ROOM_LEFT_BYTES_MAX) return `only ${bytes} bytes`
  if (stored.name !== name) return 'another name'
  if (isLong ? !stored.message.startsWith(message) : stored.message !== message) return 'another message'
  if (oddError(odd).thrown('') instanceof Error && stored.stack === undefined) return 'no stack'
  const kept = (stored.causes ?? []).map(cause => cause.message)
  return JSON.stringify(kept) === JSON.stringify(causes) ? undefined : `other causes`
}

/** All parts of an error together, as JSON text. */
function partsOf({ name, message, stack, causes = [] }: Stored): string {
  return JSON.stringify([name, message, stack ?? null, causes.map(cause => [cause.name, cause.message])])
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length
}

/** What an answer tells besides the input of the task, which its owner may read. */
function textOf(event: Extract<HistoryEvent, { readonly what: 'read' | 'events' }>): string {
  return JSON.stringify(event.what === 'read' ? event.body : event.events, (name, value) =>
    name === 'input' ? undefined : value,
  )
}

/** Whether the text has the secret as it is, or in pieces of one character or one byte. */
function tells(text: string, secret: string): boolean {
  const plain = text
    .replaceAll(/\\?"\d+\\?":/g, '')
    .replaceAll(/[\\",]/g, ' ')
    .replaceAll(/ +/g, ' ')
  const letters = [...secret].join(' ')
  const bytes = [...new TextEncoder().encode(secret)].join(' ')
  return text.includes(secret) || plain.includes(letters) || plain.includes(bytes)
}
