import { Argument, Command, type Option } from 'commander'
import type { DefineCommand, Invocation } from '../terminal/command.ts'
import { COMMANDS } from './commands.ts'

const SHELLS = ['bash', 'zsh', 'fish']

/** `baton completion`: the script is made from the commands themselves, so that it knows every option. It calls nothing. */
export const completion: DefineCommand = (command, invocation) => {
  command.addArgument(new Argument('<shell>', 'the shell').choices(SHELLS)).action(async (shell: string) => {
    const words = await completedCommands(invocation)
    invocation.out.write(
      shell === 'fish' ? fishScript(words) : shell === 'zsh' ? zshScript(words) : bashScript(words),
    )
    invocation.exitWith(0)
  })
}

/** What can follow the name of a command: its options, and its own commands or the choices of its first argument. */
type Completed = {
  readonly name: string
  readonly summary: string
  readonly options: readonly string[]
  readonly words: readonly string[]
}

async function completedCommands(invocation: Invocation): Promise<Completed[]> {
  return Promise.all(
    Object.entries(COMMANDS).map(async ([name, { summary, load }]) => {
      const command = new Command(name)
      ;(await load())(command, invocation)
      const own = command.commands.map(one => one.name())
      const choices = command.registeredArguments[0]?.argChoices ?? []
      const all = [command, ...command.commands].flatMap(one => one.options)
      return { name, summary, options: [...new Set(all.map(longName))], words: [...own, ...choices] }
    }),
  )
}

function longName({ long, flags }: Option): string {
  return long ?? flags
}

/** A `case` of the shell for each command. */
function casesOf(commands: readonly Completed[]): string {
  const line = ({ name, options, words }: Completed) =>
    `    ${name}) words="${[...words, ...options, '--help'].join(' ')}" ;;`
  return commands.map(line).join('\n')
}

function bashScript(commands: readonly Completed[]): string {
  return `# Completion of baton for bash
_baton() {
  local words="${[...commands.map(({ name }) => name), '--help'].join(' ')}"
  [ "$COMP_CWORD" -gt 1 ] && case "\${COMP_WORDS[1]}" in
${casesOf(commands)}
    *) words="" ;;
  esac
  COMPREPLY=( $(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}") )
}
complete -o default -F _baton baton
`
}

function zshScript(commands: readonly Completed[]): string {
  const described = commands.map(({ name, summary }) => `      '${name}:${summary.replaceAll("'", '’')}'`)
  return `#compdef baton
_baton() {
  local words
  if (( CURRENT == 2 )); then
    local -a commands=(
${described.join('\n')}
    )
    _describe 'command' commands
    return
  fi
  case "$words[2]" in
${casesOf(commands).replaceAll('words=', 'found=')}
  esac
  compadd -- \${=found}
  _files
}
compdef _baton baton
`.replace('  local words\n', '  local found=""\n')
}

function fishScript(commands: readonly Completed[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "\\'")}'`
  const lines = commands.flatMap(({ name, summary, options, words }) => [
    `complete -c baton -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
    ...words.map(word => `complete -c baton -n '__fish_seen_subcommand_from ${name}' -f -a ${word}`),
    ...options.map(
      option => `complete -c baton -n '__fish_seen_subcommand_from ${name}' -l ${option.slice(2)}`,
    ),
  ])
  return `# Completion of baton for fish\n${lines.join('\n')}\n`
}
