import ts from 'typescript-5'

/**
 * The options that users can give, by the files of the package that declare them. Each member must have a comment. A duration names its
 * unit, and an optional member its default. Members of answers are left out: their names say what they are.
 */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  'shared/api/contract.d.ts': ['PublishBody', 'DerivedBody'],
  'shared/core/options.d.ts': ['Options', 'Retry'],
  'shared/core/types/task-type.d.ts': ['TypeLimits', 'RateLimit', 'ConcurrencyLimit'],
  'shared/define/define-task.d.ts': ['TaskSettings', 'RunDefinition', 'StagedDefinition'],
  'shared/define/flow/define-flow.d.ts': ['FlowSettings'],
  'shared/define/flow/flow-steps.d.ts': ['ActionSettings', 'FlowStep'],
  'shared/define/definitions.d.ts': ['TaskDefinition', 'Flow', 'TaskContext'],
  'shared/signals.d.ts': ['NextOptions'],
  'shared/client/client.d.ts': ['Client'],
  'shared/client/publish.d.ts': ['CanvasOptions', 'TaskHandle', 'CanvasHandle'],
  'shared/client/publish-many.d.ts': ['PublishManyOptions'],
  'shared/client/operations.d.ts': ['Operations'],
  'shared/client/send.d.ts': ['ClientSettings', 'CallOptions'],
  'shared/client/signed/signed-fetch.d.ts': ['SignedFetchOptions'],
  'shared/client/events.d.ts': ['EventsOptions'],
  'shared/client/wait-for-result.d.ts': ['ResultOptions'],
  'shared/worker/create-worker.d.ts': ['ProcessOptions', 'WorkerOptions'],
  'shared/worker/engine.d.ts': ['WorkerSettings', 'Worker', 'Hooks'],
  'shared/worker/http/http-worker.d.ts': ['HttpWorkerSettings'],
  'shared/worker/isolation/isolate.d.ts': ['IsolationSettings'],
}

/** Types whose optional members are absent or present by themselves, so that they have no default. */
const WITHOUT_DEFAULTS = ['TaskDefinition', 'Flow', 'TaskContext', 'Client', 'Operations', 'Worker', 'Hooks']

/** What is missing, as sentences. `read` gives the text of a file of the package. */
export function undocumentedOptions(read: (file: string) => string): string[] {
  return Object.entries(OPTIONS).flatMap(([file, names]) => {
    const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true)
    return names.flatMap(name => problemsOf(declarationOf(source, name), name))
  })
}

function declarationOf(source: ts.SourceFile, name: string): ts.Node {
  const found = source.statements.find(
    one => (ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one)) && one.name.text === name,
  )
  if (!found) throw new Error(`${source.fileName} does not declare ${name}`)
  return found
}

function problemsOf(declaration: ts.Node, name: string): string[] {
  return membersIn(declaration).flatMap(member => {
    const what = `${name}.${member.name.getText()}`
    const comment = ts
      .getJSDocCommentsAndTags(member)
      .map(one => one.getText())
      .join(' ')
    if (comment === '') return isRefused(member) ? [] : [`${what} has no comment`]
    const isDuration = what.endsWith('Ms') && !/millisecond/.test(comment)
    const lacksDefault =
      member.questionToken !== undefined &&
      !WITHOUT_DEFAULTS.includes(name) &&
      !/@default|left out/.test(comment)
    return [
      ...(isDuration ? [`${what} does not name its unit`] : []),
      ...(lacksDefault ? [`${what} does not name its default`] : []),
    ]
  })
}

/** The direct members of a type or an interface, also of the parts of an intersection. */
function membersIn(node: ts.Node): Array<ts.PropertySignature | ts.MethodSignature> {
  if (ts.isInterfaceDeclaration(node) || ts.isTypeLiteralNode(node)) {
    return node.members.filter(one => ts.isPropertySignature(one) || ts.isMethodSignature(one))
  }
  if (ts.isTypeAliasDeclaration(node)) return membersIn(node.type)
  return ts.isIntersectionTypeNode(node) ? node.types.flatMap(membersIn) : []
}

/** Whether the member only says that it may not be given. */
function isRefused(member: ts.PropertySignature | ts.MethodSignature): boolean {
  return member.type?.kind === ts.SyntaxKind.NeverKeyword
}
