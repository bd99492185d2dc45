/**
 * `baton dev`: a CDK app runs on this machine, and what changes is taken over while it runs.
 *
 * A start runs the app's own command and finds the stacks with a task system (`synthesis/`). It boots each of them from its
 * template (`running.ts`, `local/`). Handlers have no code in this template, but a description of their bundle. The code is bundled
 * at a handler's first message (`bundles.ts`).
 *
 * A change goes two ways (`watch/`):
 * - The bundles that contain the file are made again, and loaded in a new process. New invocations run the new code within a second.
 * - Then the app is synthesised in the background, because the options of types are in the same files. A stack whose template differs
 *   is deployed in place. The template contains the options
 *   of each type, so this is also the way of changed options.
 *
 * What is broken, or does not load, is shown with its place, and the code before it keeps running. The next good save recovers.
 * `terminal.ts` prints all of it.
 */

import { LOCAL_CREDENTIALS, REGION } from '../../local/account.ts'
import { BatonError, messageOf } from '../../shared/core/values/values.ts'
import { type Bundles, type CodeProblem, createBundles, type Rebuilt } from './bundles/bundles.ts'
import type { DevOptions } from './command/dev-command.ts'
import { isDataFolder, lockProject, refuseForeignData, refuseWithoutRequirements } from './requirements.ts'
import type { RunningSystems } from './running.ts'
import { createRunningSystems, refuseUnknownInspection } from './running.ts'
import { changesBetween, summaryOf } from './summary.ts'
import { type Project, readProject, removeUnfinished, synthesise } from './synthesis/synthesis.ts'
import { findSystems, keyOf, lookUpLines, type System, stackLabels } from './synthesis/systems.ts'
import type { Terminal } from './terminal.ts'
import { createReloader, type Saves, watchedFolders, watchSaves } from './watch/saves.ts'

export type DevSession = Awaited<ReturnType<typeof startDev>>

type Session = {
  readonly options: DevOptions
  readonly project: Project
  readonly bundles: Bundles
  readonly running: RunningSystems
  readonly terminal: Terminal
  readonly saves: Saves
}

/**
 * Runs the app of a folder until `stop`.
 *
 * @throws BatonError `invalid` or `misconfigured`, in words for the developer, when it cannot start.
 */
export async function startDev(options: DevOptions, folder: string, terminal: Terminal) {
  const project = readProject(folder)
  await refuseWithoutRequirements(options)
  const unlock = lockProject(project)
  try {
    const session = await startLocked(options, project, terminal)
    return { ...session, stop: () => session.stop().finally(unlock) }
  } catch (cause) {
    unlock()
    throw cause
  }
}

/** Starts the app in a project that no other `baton dev` uses. */
async function startLocked(options: DevOptions, project: Project, terminal: Terminal) {
  const begun = performance.now()
  // What is saved from here on is taken over, also while the app starts.
  const folders = watchedFolders(project.folder)
  const isLeftOut = isDataFolder(options.data, project.folder, folders)
  const saves = watchSaves({ project, folders, isLeftOut, terminal })
  try {
    removeUnfinished(project)
    const assembly = await terminal.during(SYNTHESIS, () => synthesise(project))
    const systems = systemsIn(assembly, options)
    refuseUnknownInspection(systems, options.inspect)
    for (const line of lookUpLines(assembly)) terminal.say(line)
    const bundles = createBundles(project, saves.alsoFoldersOf)
    const running = createRunningSystems({ folder: project.folder, options, bundles, terminal })
    await startAll(running, systems)
    tellStart(begun, { options, project, running, terminal })
    const session = { options, project, bundles, running, terminal, saves }
    return {
      /** The stacks that run, in the order of the app. */
      systems: running.all,
      /** Resolves with the reason when the local system has ended by itself. */
      broken: running.broken,
      ...follow(session),
    }
  } catch (cause) {
    saves.stop()
    throw cause
  }
}

const SYNTHESIS = 'synthesising the app'

/** Starts all systems, or none. */
async function startAll(running: RunningSystems, systems: readonly System[]): Promise<void> {
  try {
    for (const system of systems) await running.start(system)
  } catch (cause) {
    await running.stopAll()
    throw cause
  }
}

function tellStart(
  begun: number,
  { options, project, running, terminal }: Omit<Session, 'bundles' | 'saves'>,
): void {
  terminal.say(`Baton is up after ${seconds(begun)}.`)
  const hasDashboard = options.dashboard !== undefined
  for (const { system, cloud } of running.all())
    terminal.say(`${system.label}\n${summaryOf(system, cloud.apiUrl, project.folder, hasDashboard)}`)
  if (options.auth === 'iam') terminal.say(SIGNING)
}

const { accessKeyId, secretAccessKey } = LOCAL_CREDENTIALS
const SIGNING = `Calls must be signed. Sign with AWS_ACCESS_KEY_ID=${accessKeyId} AWS_SECRET_ACCESS_KEY=${secretAccessKey}, in the region ${REGION}; signedFetch of baton-tasks/aws does it.`

/** Also refuses a `--data` folder that cannot hold the data of these stacks. */
function systemsIn(assembly: string, { data }: DevOptions): System[] {
  const systems = findSystems(assembly)
  refuseForeignData(data, systems)
  if (systems.length > 0) return systems
  const labels = stackLabels(assembly).join(', ') || 'none'
  throw new BatonError(
    'invalid',
    `no stack of the app has a TaskSystem (its stacks: ${labels}); add one: new TaskSystem(this, 'Tasks')`,
  )
}

/** Takes over changes until it is stopped. */
function follow(session: Session) {
  const { bundles, running, terminal, saves } = session
  const stopping = new AbortController()
  const lastReported = { problem: '' }
  const reloader = createReloader({
    rebuild: (files, since) => rebuild(session, files, { since, lastReported }),
    resynthesise: since => resynthesise(session, stopping.signal, { since, lastReported }),
    onProblem: error =>
      reportProblem(terminal, lastReported, { problem: messageOf(error), hasEarlier: true }),
  })
  saves.giveTo(reloader.changed)
  return {
    /** Resolves when all changes so far have been taken over. */
    idle: reloader.idle,
    stop: async () => {
      stopping.abort()
      saves.stop()
      await running.stopAll()
      await bundles.stop()
    },
  }
}

/** The problem that was last reported. The same fault often breaks a bundle and the synthesis, and is reported once. */
type LastReported = { problem: string }

/** A save: its time (`performance.now()`), and what was last reported. */
type Save = { readonly since: number; readonly lastReported: LastReported }

/** The processes for new code that start at the same time. A file may be part of many handlers, and a start takes a core for 200 ms. */
const STARTS_MAX = 2

async function rebuild(session: Session, files: ReadonlySet<string>, save: Save): Promise<void> {
  const { bundles, terminal } = session
  save.lastReported.problem = ''
  const rebuilt = (await terminal.during('bundling', () => bundles.rebuild(files))).values()
  const takeEach = async () => {
    for (const one of rebuilt) await takeOver(session, one, save)
  }
  await Promise.all(Array.from({ length: STARTS_MAX }, takeEach))
}

/** Gives a handler its new code, or reports why it does not get it. The other handlers get theirs. */
async function takeOver({ running, terminal }: Session, rebuilt: Rebuilt, save: Save): Promise<void> {
  const { outcome } = rebuilt
  if (!outcome) return
  const types = rebuilt.types.join(', ')
  const start = (folder: string) =>
    terminal.during(`starting ${types}`, () => running.replaceCode(rebuilt, folder))
  const problem = 'problem' in outcome ? outcome : await start(outcome.folder)
  if (problem) reportProblem(terminal, save.lastReported, problem)
  else terminal.say(`↻ ${types}: new code is live after ${seconds(save.since)}`)
}

function reportProblem(
  terminal: Terminal,
  lastReported: LastReported,
  { problem, hasEarlier }: CodeProblem,
): void {
  const place = /[^\s:(]+:\d+:\d+/.exec(problem)?.[0] ?? problem
  if (lastReported.problem === place) return
  lastReported.problem = place
  const present = hasEarlier ? 'The earlier code keeps running.' : 'There is no earlier code: its runs fail.'
  terminal.say(`✗ ${problem}\n  ${present} Mend the file and save it.`)
}

/** The new code of a handler has its first run within this time, also when a synthesis begins with the same save. */
const LOW_PRIORITY_MS = 5_000

async function resynthesise(
  session: Session,
  signal: AbortSignal,
  { since, lastReported }: Save,
): Promise<void> {
  const { terminal } = session
  if (signal.aborted) return
  try {
    const project = readProject(session.project.folder)
    const assembly = await terminal.during(SYNTHESIS, () =>
      synthesise(project, { signal, lowPriorityMs: LOW_PRIORITY_MS }),
    )
    if (!signal.aborted) await deployChanges(session, systemsIn(assembly, session.options), since)
  } catch (error) {
    if (!signal.aborted)
      reportProblem(terminal, lastReported, { problem: messageOf(error), hasEarlier: true })
  }
}

/** Deploys the stacks that differ, boots new ones, and ends those that the app no longer has. */
async function deployChanges(
  { running, terminal }: Session,
  systems: readonly System[],
  since: number,
): Promise<void> {
  const before = new Map(running.all().map(one => [keyOf(one.system), one]))
  for (const next of systems) {
    const old = before.get(keyOf(next))
    before.delete(keyOf(next))
    if (!old) {
      const { cloud } = await running.start(next)
      terminal.say(`↻ ${next.label} is new, at ${cloud.apiUrl}`)
    } else if (old.system.text !== next.text) {
      const changes = changesBetween(old.system, next)
      await terminal.during(`deploying ${next.label}`, () => running.redeploy(old, next))
      terminal.say(`↻ ${next.label} is deployed again after ${seconds(since)}: ${changes}`)
    }
  }
  for (const gone of before.values()) {
    await running.stop(gone)
    terminal.say(`↻ ${gone.system.label} has ended: the app no longer has it`)
  }
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1_000).toFixed(1)} s`
}
