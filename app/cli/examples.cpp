// What stands below the options in the help of each command.
#include "app/cli/arguments.h"

namespace decodescope {

const char* examples(Command command) {
    switch (command) {
        case Command::Generate:
            return "Examples:\n  decodescope generate -p \"Where is the key?\" -n 32\n"
                   "  decodescope generate -m synthetic:gpt2-small --tokens 1,2,3 -n 8 --cache growing --json\n"
                   "  decodescope generate -p \"Once\" -n 4 --kv-type f16 --trace steps.jsonl";
        case Command::Race:
            return "Examples:\n  decodescope race -p \"Where is the key?\" -n 200\n"
                   "  decodescope race -m synthetic:gpt2-small --tokens 1 -n 512 --recompute at=64,256,512 --json";
        case Command::Bench:
            return "Examples:\n  decodescope bench --lengths 64,96,128,192,256,384 --cache preallocated --cache "
                   "recompute -o charts\n"
                   "  decodescope bench -m synthetic:gpt2-small --weights f16 --lengths 256,512,1024 --repeats 5 "
                   "--profile -o charts";
        case Command::Compare:
            return "Examples:\n  decodescope compare -p \"Where is the key?\" -n 200 -o out      growing, preallocated,"
                   " paged\n"
                   "  decodescope compare -p \"Where is the key?\" -n 64 --config \"cache=preallocated\" "
                   "--config \"cache=ring:window=32;kv=k=bf16,v=f16\" --json -o out";
        case Command::Shot:
            return "Example:\n  decodescope shot -o window.png --size 1280x800 --scale 2 --theme dark --steps 60";
        case Command::Demo: return "Example:\n  decodescope demo -o out";
        case Command::Replay: return "Example:\n  decodescope replay lecture.dscope";
        case Command::Info: return "Examples:\n  decodescope info\n  decodescope info synthetic:tinyllama-1.1b --json";
        case Command::Doctor: return "Example:\n  decodescope doctor --json";
        case Command::Batch:
            return "Examples:\n  decodescope batch --prompts lines.jsonl --json\n"
                   "  decodescope batch --prompts lines.jsonl --cache paged:page=16 -n 32\n"
                   "with lines such as {\"prompt\": \"Where is the key?\", \"n\": 16} or {\"tokens\": [1, 2, 3], "
                   "\"seed\": 7}";
        case Command::Pool: return "Example:\n  decodescope pool --script pages.txt --json";
        case Command::List: return "Examples:\n  decodescope list caches\n  decodescope list models --json";
        default:
            return "Examples:\n  decodescope                                      the window\n"
                   "  decodescope generate -p \"Where is the key?\" -n 32   text in the terminal\n"
                   "  decodescope bench --lengths 64,128,256 -o charts    timing charts and their data\n"
                   "  decodescope COMMAND --help                       the options of one command";
    }
}

}  // namespace decodescope
