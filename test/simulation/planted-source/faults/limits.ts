import type { SourceFault } from '../source-fault.ts'

/** Faults in how limits grant starts, and in how the tasks that they refuse wait. */
export const LIMIT_FAULTS: readonly SourceFault[] = [
  {
    name: 'the permit of a failed run is kept when the task is tried again',
    replacements: [
      {
        path: 'shared/runtime/limits/permits.ts',
        old: 'if (!before || !isTask(before) || !isTask(after)) return []',
        new: 'if (!before || !isTask(before) || !isTask(after) || after.retrying) return []',
      },
    ],
  },
  {
    name: 'a slow claim does not confirm its permits',
    replacements: [
      {
        path: 'shared/runtime/limits/permits.ts',
        old: 'if (isWithin(system.clock, since, FRESH_HOLDER_MS)) return true',
        new: 'if (since || isWithin(system.clock, since, FRESH_HOLDER_MS)) return true',
      },
    ],
  },
  {
    name: 'the sweeper begins no looks at lines that tasks wait in',
    replacements: [
      {
        path: 'shared/runtime/limits/line.ts',
        old: 'if (isRepair && stored.note && isServed(stored.note, now)) return',
        new: 'if (isRepair) return',
      },
    ],
  },
  {
    name: 'a claim uses what limits granted to the task as it was, although other limits count it now',
    needs: 'regrouped',
    replacements: [
      {
        path: 'shared/runtime/claim/claim.ts',
        old: 'if (isCounted && !isCountedAlike(seen, current)) return GONE\n',
        new: '',
      },
    ],
  },
  {
    name: 'a process uses slots although another process wrote the log first',
    replacements: [
      {
        path: 'shared/runtime/limits/reserve-slots.ts',
        old: 'return newer ?? { outcomes }',
        new: 'return newer && served.length === 0 ? newer : { outcomes }',
      },
    ],
  },
  {
    name: 'a slot that no start uses is not given back',
    replacements: [
      {
        path: 'shared/runtime/limits/start.ts',
        old: 'await Promise.all(slots.map(({ limited, slot }) => giveBackSlot(system, limited, slot)))',
        new: 'await Promise.all(slots.slice(slots.length).map(({ limited, slot }) => giveBackSlot(system, limited, slot)))',
      },
    ],
  },
  {
    name: 'a task joins a line without a note',
    replacements: [
      {
        path: 'shared/runtime/limits/line.ts',
        old: 'if (!(await isLineClosed(system, line))) await noteLine(system, line, { grantAt })',
        new: 'await isLineClosed(system, line)',
      },
    ],
  },
  {
    name: 'each shard of a limit grants as many permits as the first',
    replacements: [
      {
        path: 'shared/core/limits/limits.ts',
        old: 'return Math.min(SHARD_PERMITS_MAX, Math.max(0, max - shard * SHARD_PERMITS_MAX))',
        new: 'return Math.min(SHARD_PERMITS_MAX, max)',
      },
    ],
  },
  {
    name: 'a permit that is given back causes no look',
    replacements: [
      {
        path: 'shared/runtime/limits/begin-looks.ts',
        old: "const freed = changes.filter(change => change.kind === 'freed')",
        new: "const freed = changes.filter(change => change.kind === 'freed' && change.limit === '')",
      },
    ],
  },
  {
    name: 'looks leave the permits of dead processes where they are',
    replacements: [
      {
        path: 'shared/runtime/limits/serve-limit-looks.ts',
        old: 'const old = holders.filter(one => mayBeStale(one, now))',
        new: 'const old = holders.filter(one => mayBeStale(one, now) && now < 0)',
      },
    ],
  },
  {
    name: 'a look does not remember which tasks it has dispatched',
    replacements: [
      {
        path: 'shared/core/limits/line.ts',
        old: 'return { ...note, sent: withinBound(sent) }',
        new: 'return { ...note, sent: withinBound(sent).slice(sent.length) }',
      },
    ],
  },
  {
    name: 'a newcomer takes a grant before the tasks in line',
    replacements: [
      {
        path: 'shared/runtime/limits/limits.ts',
        old: 'const closed = await Promise.all(lines.map(line => isLineClosed(system, line)))',
        new: 'const closed = await Promise.all(lines.map(async line => (await isLineClosed(system, line)) && line.limit === ""))',
      },
    ],
  },
  {
    name: 'each claim confirms its permits',
    replacements: [
      {
        path: 'shared/runtime/limits/permits.ts',
        old: 'if (isWithin(system.clock, since, FRESH_HOLDER_MS)) return true',
        new: 'if (isWithin(system.clock, since, 0)) return true',
      },
    ],
  },
  {
    name: 'each wait for a limit is sent twice',
    replacements: [
      {
        path: 'shared/runtime/limits/serve-limit-looks.ts',
        old: 'dispatched.map((task, nth) => {',
        new: '[...dispatched, ...dispatched].map((task, nth) => {',
      },
    ],
  },
  {
    name: 'a claim over HTTP notes the line of a used-up limit again and again',
    replacements: [
      {
        path: 'shared/runtime/limits/limits.ts',
        old: 'await noteLine(system, line, { isRepair: true })',
        new: 'await noteLine(system, line)',
      },
    ],
  },
  {
    name: 'a limit tells values of a key apart by their first characters alone',
    replacements: [
      {
        path: 'shared/core/limits/limits.ts',
        old: "digestOf(value, ['a', 'b'])",
        new: 'digestOf(value, [])',
      },
    ],
  },
  {
    name: 'a task joins a line whose limit has room',
    replacements: [
      {
        path: 'shared/runtime/limits/limits.ts',
        old: 'return lines.find((_line, nth) => closed[nth])',
        new: 'return lines.find((_line, nth) => closed[nth] || task.key.endsWith("0"))',
      },
    ],
  },
  {
    name: 'each look at a running task writes it',
    replacements: [
      {
        path: 'shared/core/wake.ts',
        old: 'const LOOKS_PER_RECORD = 8',
        new: 'const LOOKS_PER_RECORD = 2',
      },
    ],
  },
  {
    name: 'a slow claim gives its run back although it holds its permits',
    replacements: [
      {
        path: 'shared/runtime/limits/permits.ts',
        old: 'if (!(await system.limits.renew(limit, holder, system.clock.now()))) return false',
        new: 'if (await system.limits.renew(limit, holder, system.clock.now())) return false',
      },
    ],
  },
  {
    name: 'a process forgets which shards of a limit have free permits',
    replacements: [
      {
        path: 'shared/runtime/limits/permits.ts',
        old: 'const likely = hintedShard(system, known, max) ?? roomiest(system, known, max)',
        new: 'const likely = hintedShard(system, known, max) ?? roomiest(system, known, 0)',
      },
    ],
  },
]
