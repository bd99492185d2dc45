import type { DefineCommand } from '../terminal/command.ts'

/** A command as the help lists it. */
export type Listed = {
  /** The heading under which `baton --help` lists it. */
  readonly group: string
  readonly summary: string
  /** Calls that the command's help and `docs/cli.md` show. */
  readonly examples: readonly string[]
  /** Whether the command itself handles Ctrl-C. Otherwise Ctrl-C ends the process with code 130. @default false */
  readonly handlesInterrupts?: boolean
  load(): Promise<DefineCommand>
}

/**
 * All commands. Each has a file of its own or shares one with its counterpart, which is loaded when the command is called. To add
 * one, export a `DefineCommand` and add it here.
 */
export const COMMANDS: Readonly<Record<string, Listed>> = {
  ...under('Tasks:', {
    publish: {
      summary: 'publishes a task, or one for each line of a file',
      examples: [
        `baton publish resize '{"url": "https://example.com/a.png", "width": 200}' --key img-1 --wait`,
        'baton publish mail --delay 2h --priority 5',
        'baton publish resize --from images.csv --key-field id',
        'cat inputs.ndjson | baton publish resize --from -',
      ],
      load: async () => (await import('../tasks/publish.ts')).publish,
    },
    get: {
      summary: 'shows a task with its runs, its steps, its input and its result',
      examples: ['baton get resize:img-1', 'baton get resize:img-1 --json'],
      load: async () => (await import('../tasks/read.ts')).get,
    },
    why: {
      summary: 'says in one sentence why a task waits, runs or has ended, and what to do',
      examples: ['baton why resize:img-1', 'baton why resize:img-1 --json'],
      load: async () => (await import('../doctor/doctor.ts')).why,
    },
    list: {
      summary: 'lists the tasks of a type, a user or a canvas',
      examples: [
        'baton list resize --status failed --limit 50',
        'baton list resize --since 2h --error timeout --tag team=red',
        'baton list --user-id alice --order -created',
        'baton list resize --all --json',
      ],
      load: async () => (await import('../tasks/read.ts')).list,
    },
    search: {
      summary: 'finds tasks by id, key, user, tag, or the text of an error',
      examples: [
        'baton search img-1',
        'baton search team=red --limit 50',
        'baton search resize:img-1 --json',
      ],
      load: async () => (await import('../tasks/read.ts')).search,
    },
    watch: {
      summary: 'shows a task, a flow or a type while it changes',
      examples: ['baton watch order:42', 'baton watch resize --interval 5s'],
      load: async () => (await import('../tasks/watch.ts')).watch,
    },
    result: {
      summary: 'waits for the end of a task and prints its result',
      examples: ['baton result resize:img-1', 'baton result resize:img-1 --timeout 5m'],
      load: async () => (await import('../tasks/read.ts')).result,
    },
    logs: {
      summary: 'shows what the handler of a task has logged',
      examples: ['baton logs resize:img-1', 'baton logs resize:img-1 --follow'],
      load: async () => (await import('../tasks/watch.ts')).logs,
    },
    retry: {
      summary: 'starts ended tasks over, or resumes a failed flow',
      examples: [
        'baton retry resize:img-1',
        'baton retry order:42 --action skip-undo',
        'baton retry --type resize --status failed --since 2h --error timeout --dry-run',
      ],
      load: async () => (await import('../tasks/act.ts')).retry,
    },
    cancel: {
      summary: 'stops open tasks and keeps their records',
      examples: ['baton cancel resize:img-1', 'baton cancel --type resize --status ready --yes'],
      load: async () => (await import('../tasks/act.ts')).cancel,
    },
    remove: {
      summary: 'removes tasks: they never run again',
      examples: ['baton remove resize:img-1', 'baton remove --type resize --status failed --dry-run'],
      load: async () => (await import('../tasks/act.ts')).remove,
    },
    bulk: {
      summary: 'shows how far the retry, cancel or removal of many tasks is',
      examples: ['baton bulk 01JDXH5Q7T8Z3M6V9K2N4P1R5S'],
      load: async () => (await import('../bulk/act-on-tasks.ts')).bulk,
    },
  }),
  ...under('The system:', {
    types: {
      summary: 'lists the task types, or shows one with the counts of its tasks',
      examples: ['baton types', 'baton types resize --stack Shop --region us-east-1'],
      load: async () => (await import('../operate/types.ts')).types,
    },
    pause: {
      summary: 'pauses a type: none of its tasks starts until it is resumed',
      examples: ['baton pause resize'],
      load: async () => (await import('../operate/types.ts')).pause,
    },
    resume: {
      summary: 'ends the pause of a type',
      examples: ['baton resume resize'],
      load: async () => (await import('../operate/types.ts')).resume,
    },
    purge: {
      summary: 'removes all tasks of a type that have a status, in the background',
      examples: ['baton purge resize --status succeeded,cancelled --before 30d'],
      load: async () => (await import('../operate/types.ts')).purge,
    },
    schedules: {
      summary:
        'lists schedules, and shows, puts, pauses, resumes, triggers or removes one, or shows its ticks',
      examples: [
        'baton schedules',
        'baton schedules show nightly',
        `baton schedules put nightly '{"cron": "0 3 * * *", "timezone": "Europe/Berlin", "task": {"type": "report"}}'`,
        'baton schedules ticks nightly',
        'baton schedules trigger nightly',
      ],
      load: async () => (await import('../operate/schedules.ts')).schedules,
    },
    workers: {
      summary: 'lists the workers, for a day also those that have stopped or died',
      examples: ['baton workers'],
      load: async () => (await import('../operate/workers.ts')).workers,
    },
    canvases: {
      summary: 'lists the canvases, the latest first, with their progress',
      examples: ['baton canvases', 'baton canvases --status running --json'],
      load: async () => (await import('../operate/canvases.ts')).canvases,
    },
    api: {
      summary: 'calls any operation of the API by its name, or lists the operations',
      examples: [
        'baton api',
        `baton api patch resize:img-1 --body '{"priority": 5}'`,
        'baton api limitUsage mail --query value=alice',
      ],
      load: async () => (await import('../operate/api.ts')).api,
    },
    failures: {
      summary: 'lists what has failed, grouped by type and error',
      examples: ['baton failures', 'baton failures --type resize --since 6h'],
      load: async () => (await import('../operate/dead-letters.ts')).failures,
    },
    events: {
      summary: 'prints what happens, as it happens',
      examples: ['baton events', 'baton events --type task.failed --task-type resize --json'],
      load: async () => (await import('../operate/api.ts')).events,
    },
    'dead-letters': {
      summary: 'lists the messages that were given up, and sends them again',
      examples: [
        'baton dead-letters',
        'baton dead-letters --queue type:resize --all --json',
        "baton dead-letters replay 'type:resize~00001764000000~0f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0'",
        'baton dead-letters replay --queue wake',
      ],
      load: async () => (await import('../operate/dead-letters.ts')).deadLetters,
    },
    doctor: {
      summary: 'checks a system, or says why a task does not run',
      examples: ['baton doctor', 'baton doctor --stack Shop', 'baton doctor resize:img-1'],
      load: async () => (await import('../doctor/doctor.ts')).doctor,
    },
    dashboard: {
      summary: 'serves the dashboard of a system on this machine, for your browser only',
      examples: ['baton dashboard', 'baton dashboard --stack Shop --profile live --read-only'],
      load: async () => (await import('../dashboard/dashboard.ts')).dashboard,
    },
  }),
  ...under('Development:', {
    dev: {
      summary: 'runs the CDK app of this folder on this machine, and reloads what changes',
      examples: ['baton dev', 'baton dev --port 8080 --data .baton/state'],
      handlesInterrupts: true,
      load: async () => (await import('../dev/command/dev-command.ts')).dev,
    },
    init: {
      summary: 'writes a task, a flow, a stack and a test into a folder; it overwrites no file',
      examples: ['baton init my-app'],
      load: async () => (await import('./init.ts')).init,
    },
    worker: {
      summary: 'serves the tasks that a file exports, from their queues',
      examples: ['baton worker tasks/video.ts --concurrency 10', 'baton worker tasks/video.ts --stack Shop'],
      handlesInterrupts: true,
      load: async () => (await import('../worker/worker.ts')).worker,
    },
    completion: {
      summary: 'prints the completion script of a shell',
      examples: [
        'baton completion bash > /etc/bash_completion.d/baton',
        'baton completion zsh > "$' + '{fpath[1]}/_baton"',
        'baton completion fish > ~/.config/fish/completions/baton.fish',
      ],
      load: async () => (await import('./completion.ts')).completion,
    },
  }),
}

function under(
  group: string,
  commands: Readonly<Record<string, Omit<Listed, 'group'>>>,
): Record<string, Listed> {
  return Object.fromEntries(Object.entries(commands).map(([name, command]) => [name, { ...command, group }]))
}
