import { parseArguments } from './arguments.ts'
import { generate, type ScenarioKind } from './generate/generate.ts'
import { reportOf } from './report/report.ts'
import { type BrokenSeed, playSeeds, type Tally } from './simulate/play-seeds.ts'
import { simulate } from './simulate/simulate.ts'

/** The command `npm run simulate`: plays one seed or a range of seeds, and reports the first broken seed. */

const BROKEN = 1
const WRONG_USE = 2
const PROGRESS_MS = 3_000

// A reader such as `head` closes the pipe early. The command then ends without an error.
process.stdout.on('error', () => process.exit())

const request = parseArguments(process.argv.slice(2))
if ('mistake' in request) {
  console.error(request.mistake)
  process.exitCode = WRONG_USE
} else {
  const broken = 'seed' in request ? await playOne(request) : await playRange(request)
  if (broken) {
    console.log(`\n${await reportOf(broken, { only: request.only })}`)
    process.exitCode = BROKEN
  }
}

async function playOne({
  seed,
  isTraced,
  only,
}: {
  seed: number
  isTraced: boolean
  only?: ScenarioKind
}): Promise<BrokenSeed | undefined> {
  // Stack traces cost time. They are recorded only for a traced seed.
  if (!isTraced) Error.stackTraceLimit = 0
  const { broken, events, virtualMs } = await simulate(generate(seed, only), {
    trace: isTraced ? console.log : undefined,
  })
  console.log(textOf({ seeds: 1, events, virtualMs, broken: broken ? [{ seed, verdict: broken }] : [] }))
  return broken && { seed, verdict: broken }
}

async function playRange(range: {
  from: number
  count: number
  only?: ScenarioKind
}): Promise<BrokenSeed | undefined> {
  Error.stackTraceLimit = 0
  const begunAt = performance.now()
  const seconds = () => (performance.now() - begunAt) / 1_000
  let shownAt = begunAt
  const onProgress = (tally: Tally) => {
    if (performance.now() - shownAt < PROGRESS_MS) return
    shownAt = performance.now()
    showProgress(`${tally.seeds} of ${range.count} seeds, ${Math.round(tally.seeds / seconds())} a second`)
  }
  const tally = await playSeeds({ ...range, onProgress })
  showProgress('')
  console.log(
    `${textOf(tally)}, in ${seconds().toFixed(1)} s (${Math.round(tally.seeds / seconds())} a second)`,
  )
  return tally.broken[0]
}

/** Prints the progress. On a terminal each line replaces the one before. */
function showProgress(progress: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${progress.padEnd(60)}\r`)
  else if (progress) console.error(progress)
}

function textOf({ seeds, events, virtualMs, broken }: Tally): string {
  const hours = (virtualMs / 3_600_000).toFixed(1)
  return `${seeds} ${seeds === 1 ? 'seed' : 'seeds'}, ${events} events, ${hours} virtual hours, ${broken.length} broken`
}
