#include "ui/session/engine_worker.h"

#include <QFile>
#include <exception>
#include <new>
#include <utility>

#include "engine/measure/cost_model.h"
#include "ui/session/recording_settings.h"

namespace decodescope {

namespace {

SessionMessage error_message(const Error& error) {
    return {SessionMessage::Kind::Error, QString::fromStdString(error.message), QString::fromStdString(error.hint)};
}

}  // namespace

EngineWorker::EngineWorker(std::unique_ptr<EngineDriver> driver, std::shared_ptr<WorkerLink> link)
    : driver_(std::move(driver)), link_(std::move(link)), maker_(*driver_, *link_) {}

EngineWorker::~EngineWorker() = default;

// The one place where an exception of the engine's thread ends: memory that ran out in the standard library, mostly.
void EngineWorker::guarded(const Ticket& ticket, const std::function<Status(WorkOutcome&)>& work) {
    WorkOutcome outcome;
    const auto unexpected = [&](const QString& text) {
        const QString hint = run_ != nullptr && run_->broken ? tr("Reset starts the run anew.") : QString();
        outcome.message = SessionMessage{SessionMessage::Kind::Error, text, hint};
    };
    try {
        Status status = make_error(ErrorKind::Cancelled, "");
        if (!ticket.stop.stop_requested()) status = work(outcome);
        outcome.ok = status.ok();
        if (!status.ok() && status.error().kind == ErrorKind::Cancelled) outcome.cancelled = true;
        else if (!status.ok()) outcome.message = error_message(status.error());
    } catch (const std::bad_alloc&) {
        unexpected(tr("There is not enough memory for this."));
    } catch (const std::exception& problem) {
        unexpected(tr("An unexpected error stopped the work: %1.").arg(QString::fromUtf8(problem.what())));
    }
    if (run_ != nullptr) {
        outcome.finished = run_->finished();
        if (outcome.finished) outcome.stop_reason = QString::fromStdString(run_->generation->stop_reason());
    }
    Q_EMIT finished(ticket.number, outcome);
}

void EngineWorker::apply(const Ticket& ticket, const SessionSettings& wanted, bool fresh) {
    guarded(ticket, [&](WorkOutcome&) { return do_apply(ticket, wanted, fresh); });
}

bool EngineWorker::needs_load(const SessionSettings& wanted) const {
    return loaded_ == nullptr || loaded_for_.model != wanted.model || loaded_for_.backend != wanted.backend ||
           loaded_for_.threads != wanted.threads || loaded_for_.weights != wanted.weights;
}

Result<LoadedModelPtr> EngineWorker::load(const Ticket& ticket, const SessionSettings& wanted) {
    if (!needs_load(wanted)) return loaded_;
    EngineDriver::LoadRequest request;
    request.model = wanted.model.toStdString();
    request.backend.id = wanted.backend.toStdString();
    request.backend.threads = wanted.threads;
    request.weights = wanted.weights;
    return driver_->load(request, loaded_, progress(WorkKind::Load), ticket.stop);
}

Status EngineWorker::do_apply(const Ticket& ticket, const SessionSettings& wanted, bool fresh) {
    DS_RETURN_IF_ERROR(validate(wanted.sampler));
    auto cache = complete_cache_spec(wanted.cache);
    if (!cache.ok()) return cache.error();
    SessionSettings settings = wanted;
    settings.cache = std::move(cache).value();

    const SettingsChange change = run_ == nullptr ? SettingsChange::Restart : settings_change(run_->settings, settings);
    if (run_ != nullptr && !run_->broken && !fresh && change == SettingsChange::Nothing) return {};
    auto loaded = load(ticket, settings);
    if (!loaded.ok()) return loaded.error();
    // A first load without a prompt waits for one: the prompts to choose from come with the model.
    if (run_ == nullptr && !replay_ && *loaded != loaded_ && settings.prompt.isEmpty()) {
        loaded_ = std::move(loaded).value();
        loaded_for_ = settings;
        announce_model(settings);
        return {};
    }
    const bool keeps_tokens =
        run_ != nullptr && !fresh && (change == SettingsChange::Refeed || change == SettingsChange::Load);
    auto made = keeps_tokens
                    ? maker_.feed_again(*loaded, settings, known_tokens(*run_->recording, run_->recording->row_count()),
                                        ticket.stop)
                    : maker_.start(*loaded, settings, ticket.stop);
    if (made.ok()) {
        forget_branches();
        adopt(std::move(made).value());
        return {};
    }
    // Without a run before it the model is kept and waits for a prompt that can be used.
    if (run_ == nullptr) {
        loaded_ = std::move(loaded).value();
        loaded_for_ = settings;
        if (!replay_) announce_model(settings);
    }
    return made.error();
}

void EngineWorker::adopt(LiveRunPtr run) {
    loaded_ = run->loaded;
    loaded_for_ = run->settings;
    run_ = std::move(run);
    replay_ = false;
    RunNews news;
    news.recording = run_->recording;
    news.model = loaded_->model;
    news.program = std::make_shared<const StepProgram>(loaded_->program);
    news.settings = run_->settings;
    news.branches = branches();
    Q_EMIT run_replaced(news);
}

void EngineWorker::announce_model(const SessionSettings& settings) {
    RunNews news;
    news.model = loaded_->model;
    news.program = std::make_shared<const StepProgram>(loaded_->program);
    news.settings = settings;
    Q_EMIT run_replaced(news);
}

void EngineWorker::step(const Ticket& ticket) {
    guarded(ticket, [&](WorkOutcome&) { return step_once(ticket, false); });
}

void EngineWorker::play(const Ticket& ticket, bool flat_out) {
    guarded(ticket, [&](WorkOutcome&) { return do_play(ticket, flat_out); });
}

Status EngineWorker::do_play(const Ticket& ticket, bool flat_out) {
    while (!ticket.stop.stop_requested()) {
        answer_question();
        const auto started = WorkerLink::Clock::now();
        const bool hurry = flat_out || link_->tokens_per_second() <= 0;
        DS_RETURN_IF_ERROR(step_once(ticket, hurry));
        if (run_->finished()) break;
        while (!hurry && !ticket.stop.stop_requested() && !link_->wait_for_pace(started, ticket.stop))
            answer_question();
    }
    return {};
}

Status EngineWorker::step_once(const Ticket& ticket, bool flat_out) {
    if (run_ == nullptr)
        return make_error(ErrorKind::Argument, tr("There is no run yet; choose a prompt first.").toStdString());
    if (run_->broken)
        return make_error(ErrorKind::Argument,
                          tr("The run was interrupted by an error; reset starts it anew.").toStdString());
    if (run_->finished()) return {};
    run_->session->set_capture(link_->capture.load());
    run_->broken = true;  // stays so when an exception ends the step half-way
    const Status stepped = run_->generation->step(ticket.stop);
    run_->broken = false;
    if (!stepped.ok()) return stepped;
    link_->mark();
    race(ticket, flat_out);
    return {};
}

bool EngineWorker::make_lane() {
    if (run_->lane != nullptr) return true;
    if (run_->lane_failed) return false;
    auto lane = driver_->create_lane(run_->loaded);
    if (lane.ok()) {
        run_->lane = std::move(lane).value();
        return true;
    }
    run_->lane_failed = true;
    say(SessionMessage::Kind::Warning,
        tr("The lane without the cache cannot run: %1").arg(QString::fromStdString(lane.error().text())));
    return false;
}

void EngineWorker::race(const Ticket& ticket, bool flat_out) {
    if (!link_->race.load() || ticket.stop.stop_requested()) return;
    const StrategyDescriptor* strategy = find_strategy(run_->settings.cache.id);
    if (strategy != nullptr && !strategy->has_cache) return;  // it would race itself
    const StepFacts& step = run_->generation->last_step();
    const auto tokens = run_->session->tokens();
    const auto length = static_cast<std::int64_t>(tokens.size());
    const ModelConfig& model = run_->loaded->model->config;
    if (!can_recompute(length, model)) return tell_alone(model.context);
    const std::int64_t flops = recompute_step_cost(run_->loaded->program, model, length).flops;
    tell_stride(run_->pacer.stride(flops, flat_out), run_->pacer.expected_micros(flops));
    if (!run_->pacer.due(length, flops, flat_out) || !make_lane()) return;

    auto compared = run_->lane->compare(tokens, run_->generation->last_logits(), step.micros, ticket.stop);
    if (!compared.ok()) {
        if (compared.error().kind == ErrorKind::Cancelled) return;
        run_->lane_failed = true;
        run_->lane.reset();
        say(SessionMessage::Kind::Warning,
            tr("The lane without the cache stopped: %1").arg(QString::fromStdString(compared.error().text())));
        return;
    }
    RacePoint point = std::move(compared).value();
    point.step = step.index;
    point.captured = step.captured;
    run_->pacer.learn(point.recompute_micros, flops);
    run_->recording->append_race_point(point);
    link_->mark();
}

void EngineWorker::tell_alone(std::int64_t context) {
    if (std::exchange(run_->alone_told, true)) return;
    say(SessionMessage::Kind::Info,
        tr("Beyond %1 tokens, the model's context, the cached lane goes on alone: a pass without a cache would have to "
           "read all tokens at once.")
            .arg(context));
}

void EngineWorker::tell_stride(int stride, double expected_micros) {
    if (!run_->pacer.tell(stride)) return;
    if (stride == 0)
        say(SessionMessage::Kind::Info,
            tr("A pass without the cache takes about %1 s here, so it is measured at 64, 128, 256, ... tokens only.")
                .arg(QString::number(expected_micros / 1e6, 'f', 1)));
    else
        say(SessionMessage::Kind::Info,
            tr("Flat out, the pass without the cache is measured every %1 tokens from here on.").arg(stride));
}

void EngineWorker::continue_from(const Ticket& ticket, std::int32_t step, GoOn how) {
    guarded(ticket, [&](WorkOutcome&) -> Status {
        if (run_ == nullptr || step < 0 || step >= run_->recording->step_count())
            return make_error(ErrorKind::Argument, tr("There is no step to go on from.").toStdString());
        auto run = maker_.cut_back(*run_, step, how, ticket.stop);
        if (!run.ok()) return run.error();
        if (how == GoOn::InABranch) leave_in_a_branch();
        adopt(std::move(run).value());
        return {};
    });
}

// What was shown stays beside the branch that comes now. One that an error has stopped half-way cannot go on.
void EngineWorker::leave_in_a_branch() {
    if (!run_->broken) parked_[branch_] = std::move(run_);
    branch_ = ++last_branch_;
    if (parked_.size() < kMostBranches) return;
    say(SessionMessage::Kind::Info,
        tr("Branch %1 was given up: %2 branches are kept.").arg(parked_.begin()->first).arg(kMostBranches));
    parked_.erase(parked_.begin());
}

void EngineWorker::forget_branches() {
    parked_.clear();
    branch_ = last_branch_ = 1;
}

void EngineWorker::switch_branch(const Ticket& ticket, int number) {
    guarded(ticket, [&](WorkOutcome&) -> Status {
        const auto found = parked_.find(number);
        if (found == parked_.end())
            return make_error(ErrorKind::Argument, tr("There is no branch %1.").arg(number).toStdString());
        LiveRunPtr next = std::move(found->second);
        parked_.erase(found);
        if (!run_->broken) parked_[branch_] = std::move(run_);
        branch_ = number;
        adopt(std::move(next));
        return {};
    });
}

std::vector<SessionBranch> EngineWorker::branches() const {
    const auto described = [](int number, const LiveRun& run, bool shown) {
        SessionBranch branch{number, run.recording->row_count(), shown, {}};
        std::string text;
        for (std::int32_t row = std::max(0, run.recording->row_count() - 8); row < run.recording->row_count(); ++row)
            text += run.recording->row_text(row);
        branch.ending = QString::fromStdString(text).simplified();
        return branch;
    };
    std::vector<SessionBranch> all;
    for (const auto& [number, run] : parked_) {
        if (number > branch_ && (all.empty() || all.back().number < branch_))
            all.push_back(described(branch_, *run_, true));
        all.push_back(described(number, *run, false));
    }
    if (all.empty() || all.back().number < branch_) all.push_back(described(branch_, *run_, true));
    return all;
}

void EngineWorker::sweep(const Ticket& ticket, const SweepRequest& request) {
    guarded(ticket, [&](WorkOutcome& outcome) -> Status {
        if (loaded_ == nullptr)
            return make_error(ErrorKind::Argument, tr("No model is loaded yet; choose one first.").toStdString());
        link_->begin_sweep();
        auto result = driver_->sweep(loaded_, request, [&](const SweepProgress& progress) {
            link_->report({WorkKind::Sweep, progress.done, progress.total, progress.what});
            if (progress.partial != nullptr) link_->report_sweep(*progress.partial);
        }, ticket.stop);
        if (!result.ok()) return result.error();
        outcome.cancelled = result->cancelled;
        outcome.sweep = std::make_shared<const SweepResult>(std::move(result).value());
        return {};
    });
}

void EngineWorker::compare(const Ticket& ticket, const CompareRequest& request) {
    guarded(ticket, [&](WorkOutcome& outcome) -> Status {
        if (run_ == nullptr)
            return make_error(ErrorKind::Argument, tr("There is no run yet; choose a prompt first.").toStdString());
        CompareRequest of_run = request;
        const std::int64_t prompt = run_->recording->facts().prompt_tokens;
        of_run.prompt = known_tokens(*run_->recording, static_cast<std::int32_t>(prompt)).tokens;
        const auto report = [&](const CompareProgress& progress) {
            link_->report({WorkKind::Compare, progress.done, progress.total, progress.what});
        };
        auto result = driver_->compare(run_->loaded, run_->settings.threads, of_run, report, ticket.stop);
        if (!result.ok()) return result.error();
        outcome.cancelled = result->cancelled;
        // A comparison without a single pass says nothing: the older one stays.
        if (result->lanes.empty() || result->lanes.front().passes.empty()) return {};
        outcome.comparison = std::make_shared<const CompareResult>(std::move(result).value());
        return {};
    });
}

void EngineWorker::save(const Ticket& ticket, RecordingPtr recording, const QString& path) {
    guarded(ticket, [&](WorkOutcome&) {
        return driver_->save(*recording, QFile::encodeName(path).toStdString(), progress(WorkKind::Save), ticket.stop);
    });
}

void EngineWorker::open(const Ticket& ticket, const QString& path) {
    guarded(ticket, [&](WorkOutcome&) -> Status {
        auto opened = driver_->open(QFile::encodeName(path).toStdString(), progress(WorkKind::Open), ticket.stop);
        if (!opened.ok()) return opened.error();
        run_.reset();
        forget_branches();
        replay_ = true;
        RunNews news;
        news.recording = std::move(opened).value();
        news.settings = settings_of(*news.recording);
        news.replay = true;
        Q_EMIT run_replaced(news);
        return {};
    });
}

void EngineWorker::answer_question() {
    const auto question = link_->take_question();
    if (!question.has_value()) return;
    InspectedCell cell;
    cell.layer = question->layer;
    cell.position = question->position;
    try {
        if (run_ == nullptr) {
            cell.reason = tr("There is no engine behind what is shown.");
        } else if (auto values = run_->session->cell(question->layer, question->position); values.ok()) {
            cell.available = true;
            cell.values = std::move(values).value();
        } else {
            cell.reason = QString::fromStdString(values.error().text());
        }
    } catch (const std::exception&) {
        cell.reason = tr("There is not enough memory for this.");
    }
    Q_EMIT inspected(question->number, cell);
}

void EngineWorker::say(SessionMessage::Kind kind, const QString& text, const QString& hint) {
    Q_EMIT said({kind, text, hint});
}

ProgressFn EngineWorker::progress(WorkKind kind) {
    return [this, kind](std::int64_t done, std::int64_t total) { link_->report({kind, done, total, {}}); };
}

}  // namespace decodescope
