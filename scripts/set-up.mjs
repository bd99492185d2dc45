// Installs what this machine lacks: npm packages, and a Java 17+ runtime for DynamoDB Local.
// It runs before anything is installed, on any version of Node, so it is plain JavaScript without dependencies.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'

const JAVA_VERSION_MIN = 17
const CHROMIUM_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]
const root = new URL('..', import.meta.url)

installPackages()
installJava()
if (isTestRun()) installChromium()

/** Runs `npm ci` if the installed packages are missing or older than the lock file. */
function installPackages() {
  const lock = new URL('package-lock.json', root)
  const installed = new URL('node_modules/.package-lock.json', root)
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  console.log('Installing npm packages …')
  run('npm', ['ci', '--no-fund', '--no-audit', '--loglevel=error'], 'npm could not install the packages')
}

function installJava() {
  if (javaVersion() >= JAVA_VERSION_MIN) return
  for (const { tool, commands } of INSTALLERS) {
    if (!has(tool)) continue
    console.log(`Installing a Java runtime with ${tool} …`)
    for (const [command, ...args] of commands) spawnSync(command, args, { stdio: 'inherit' })
    if (javaVersion() >= JAVA_VERSION_MIN) return
  }
  fail(
    `DynamoDB Local needs a Java ${JAVA_VERSION_MIN}+ runtime: install one (for example openjdk-${JAVA_VERSION_MIN}-jre-headless) so that 'java' is on the PATH.`,
  )
}

/**
 * The tests of the dashboard need a browser. Without one they are skipped, and one line says so: a machine on which nothing can be
 * installed still runs all other tests.
 */
function installChromium() {
  if (process.env.CHROMIUM || CHROMIUM_PATHS.some(path => existsSync(path))) return
  if (has('apt-get') && (process.getuid?.() === 0 || has('sudo'))) {
    console.log('Installing Chromium with apt-get, for the tests of the dashboard …')
    for (const args of [
      ['update', '-qq'],
      ['install', '-y', '-qq', 'chromium'],
    ]) {
      const [command, ...rest] = [...asRoot(), 'apt-get', ...args]
      spawnSync(command, rest, { stdio: 'inherit' })
    }
  }
  if (CHROMIUM_PATHS.some(path => existsSync(path))) return
  console.log('No Chromium was found: the tests of the dashboard are skipped. CHROMIUM=PATH names one.')
}

const INSTALLERS = [
  {
    tool: 'apt-get',
    commands: [
      [...asRoot(), 'apt-get', 'update', '-qq'],
      [...asRoot(), 'apt-get', 'install', '-y', '-qq', 'default-jre-headless'],
    ],
  },
  { tool: 'dnf', commands: [[...asRoot(), 'dnf', 'install', '-y', '-q', 'java-latest-openjdk-headless']] },
  { tool: 'apk', commands: [[...asRoot(), 'apk', 'add', '-q', 'openjdk17-jre-headless']] },
  { tool: 'brew', commands: [['brew', 'install', '--quiet', 'openjdk@21']] },
]

function asRoot() {
  return process.getuid?.() === 0 || !has('sudo') ? [] : ['sudo', '-n']
}

/** The major version of the `java` on the PATH; 0 if there is none. */
function javaVersion() {
  const { stderr, status } = spawnSync('java', ['-version'], { encoding: 'utf8' })
  return status === 0 ? Number(/version "(\d+)/.exec(stderr)?.[1] ?? 0) : 0
}

function isTestRun() {
  return /^(test|check)/.test(process.env.npm_lifecycle_event ?? '')
}

function has(tool) {
  return spawnSync(process.platform === 'win32' ? 'where' : 'which', [tool]).status === 0
}

function run(command, args, failureMessage) {
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) fail(failureMessage)
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
