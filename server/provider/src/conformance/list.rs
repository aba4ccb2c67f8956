//! The list of cases: the one place from which both [`CASES`] and the tests of [`suite!`](super::suite) are made.

use super::{Ability, Case};

/// Makes a test of every case over the fixtures of an `async fn() -> Fixture`. Use it once a module.
#[macro_export]
macro_rules! conformance_suite {
    ($factory:expr) => {
        $crate::conformance_cases!([$crate::conformance_tests] $factory);

        /// Says which cases do not apply to this fixture.
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn skipped_cases_are_told() {
            $crate::conformance::tell_skipped(module_path!(), $factory().await).await;
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    (($factory:expr) $($module:ident { $($name:ident $([$($need:ident),+])?;)+ })+) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $name() {
                let fixture = $factory().await;
                $crate::conformance::run(stringify!($name), fixture, |work| {
                    #[allow(clippy::disallowed_methods, reason = "a test has no shutdown to take part in")]
                    let task = tokio::spawn(work);
                    Box::pin(async move {
                        if let Err(error) = task.await {
                            std::panic::resume_unwind(error.into_panic());
                        }
                    })
                })
                .await;
            }
        )+)+
    };
}

macro_rules! case_constants {
    (() $($module:ident { $($name:ident $([$($need:ident),+])?;)+ })+) => {
        /// Every case, in the order of the list.
        pub const CASES: &[Case] = &[
            $($(Case {
                name: stringify!($name),
                needs: &[$($(Ability::$need),+)?],
                body: |fixture| Box::pin(super::$module::$name(fixture)),
            },)+)+
        ];
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ([$($consumer:tt)+] $($arguments:tt)*) => {
        $($consumer)+! {
            ($($arguments)*)
            resolve {
                the_root_is_announced_and_a_directory;
                a_target_is_called_by_its_canonical_absolute_path;
                a_dot_stays_where_it_is;
                two_dots_go_to_the_parent;
                a_relative_path_starts_at_the_working_directory;
                an_absolute_path_ignores_the_working_directory;
                empty_components_are_nothing;
                a_trailing_slash_asks_for_a_directory;
                a_file_is_no_parent;
                missing_components_become_the_rest;
                two_dots_after_something_missing_are_not_found;
                two_dots_never_leave_the_root;
                a_path_that_comes_back_has_still_left;
                an_absolute_path_outside_the_roots_is_denied;
                a_sibling_with_the_same_prefix_is_outside;
                a_working_directory_outside_the_roots_is_denied;
                a_relative_working_directory_is_refused;
                a_tilde_is_a_name;
                exact_names_win_over_look_alikes;
                names_are_bytes [RawNames];
                a_newline_in_a_name_is_shown_escaped;
                a_name_may_be_long_and_not_too_long;
                a_path_may_be_long_and_not_too_long;
                empty_paths_and_nul_bytes_are_refused;
                a_place_contains_itself_and_what_is_beneath;
                a_foreign_key_is_refused;
            }
            link {
                a_link_leads_to_its_target [Symlinks];
                a_linked_directory_leads_on [Symlinks];
                two_dots_after_a_link_go_to_its_targets_parent [Symlinks];
                a_relative_link_starts_at_its_own_directory [Symlinks];
                an_absolute_link_beneath_the_root_is_followed [Symlinks];
                a_link_out_of_the_root_is_denied [Symlinks];
                a_key_never_leads_out_after_its_parent_became_a_link [Symlinks];
                a_key_follows_when_its_parent_became_a_link_inside [Symlinks];
                a_dangling_link_is_its_missing_target [Symlinks];
                a_write_through_a_dangling_link_creates_its_target [Symlinks];
                a_write_through_a_link_keeps_the_link [Symlinks];
                an_edit_through_a_link_keeps_the_link [Symlinks];
                links_in_a_circle_are_refused [Symlinks];
                a_long_chain_of_links_is_followed_up_to_the_bound [Symlinks];
                a_link_to_a_file_is_no_parent [Symlinks];
            }
            key {
                every_spelling_has_one_key;
                different_files_have_different_keys;
                a_key_is_the_same_before_and_after_creation;
                every_spelling_of_something_missing_has_one_key;
                a_replaced_file_keeps_its_key;
                a_link_shares_the_key_of_what_it_leads_to [Symlinks];
            }
            stat {
                stat_tells_kind_and_size;
                stat_has_a_version_only_when_it_is_wanted;
                a_directory_has_no_version;
                stat_of_something_missing_is_not_found;
                stat_follows_a_link_and_lstat_does_not [Symlinks];
                lstat_has_no_version_and_stays_in_the_root;
                a_file_in_the_way_is_told_by_stat;
                special_files_are_told_apart [SpecialFiles];
                permission_bits_are_told [Modes];
            }
            read_lines {
                a_small_file_is_read_whole;
                a_window_starts_where_it_is_told;
                windows_end_to_end_are_the_file;
                the_last_line_of_a_window_may_be_the_last_of_the_file;
                a_window_past_the_end_has_no_lines_and_the_true_total;
                an_empty_file_is_text_without_lines;
                a_newline_alone_is_one_empty_line;
                a_last_line_without_a_newline_counts;
                crlf_is_a_line_end_and_not_in_the_text;
                mixed_line_ends_are_told_line_by_line;
                the_line_ends_of_a_mixed_file_are_counted [UncarriedFacts];
                a_bom_is_told_and_not_shown;
                the_byte_cap_ends_a_window_between_lines;
                a_long_line_is_cut_and_its_length_told;
                a_nul_anywhere_is_no_text;
                invalid_utf8_anywhere_is_no_text;
                utf16_is_named;
                directories_have_no_lines;
                pipes_have_no_lines [SpecialFiles];
                something_missing_comes_with_similar_names;
                similar_names_are_at_most_three_and_never_opened;
                a_missing_parent_has_no_similar_names;
                a_touched_file_has_the_same_version [Times];
                a_rewrite_of_the_same_size_has_another_version;
            }
            content {
                bytes_of_any_file_come_with_the_version_at_the_end;
                a_range_of_bytes_has_no_version;
                a_range_that_is_the_whole_file_has_its_version;
                a_range_past_the_end_is_empty;
                an_empty_file_has_no_pieces_and_a_version;
                more_bytes_than_the_cap_are_too_large;
                text_comes_in_pieces_that_end_between_characters;
                text_keeps_bom_and_line_ends;
                text_larger_than_the_byte_cap_is_read_whole;
                missing_files_and_directories_have_no_content;
                a_listing_has_names_and_kinds;
                a_listing_does_not_follow_links [Symlinks];
                a_listing_shows_raw_names_safely [RawNames];
                a_large_directory_is_listed_whole;
                only_directories_are_listed;
            }
            write {
                a_creation_is_reported;
                an_update_is_reported;
                content_is_stored_byte_for_byte;
                large_content_is_stored_whole;
                empty_content_is_an_empty_file;
                missing_parents_are_created;
                content_that_is_no_utf8_is_refused;
                a_create_never_replaces;
                a_create_tells_that_what_is_there_is_no_text;
                a_create_that_lost_the_race_changes_nothing;
                a_stale_write_changes_nothing;
                a_stale_write_of_what_is_there_is_stale;
                reading_again_helps_after_a_stale_write;
                a_touched_file_is_not_stale [Times];
                a_vanished_file_is_stale_and_stays_gone;
                an_unconditional_write_creates_and_replaces;
                the_version_of_a_write_guards_the_next;
                a_directory_is_never_written;
                a_pipe_is_never_written [SpecialFiles];
                a_parent_that_became_a_file_is_no_directory;
                a_path_that_ends_in_a_slash_makes_no_file;
                a_write_keeps_the_mode [Modes];
                privilege_bits_are_dropped_with_a_notice [Modes];
                a_file_without_write_bits_is_refused [Modes];
                another_hard_link_keeps_the_old_content_with_a_notice [HardLinks];
                changed_line_ends_bom_and_final_newline_are_noticed;
                the_diff_is_of_what_was_displaced;
                the_diff_is_left_out_when_it_is_not_wanted_or_not_possible;
                a_diff_that_is_left_out_says_why_in_numbers [UncarriedFacts];
                operation_ids_are_refused_where_they_are_not_recorded;
                refusals_echo_no_content;
            }
            edit {
                an_edit_is_reported;
                an_edit_that_wants_no_diff_has_none;
                mixed_line_ends_outside_a_match_stay;
                a_match_over_lines_sees_crlf_as_lf;
                new_lines_take_the_line_end_of_the_file;
                an_edit_keeps_the_bom;
                the_final_newline_is_nobodys_but_the_callers;
                an_edit_notices_the_final_newline_that_it_changes;
                new_text_is_literal;
                quotes_are_not_folded;
                empty_new_text_deletes_the_match;
                replace_all_goes_from_the_left_and_never_rescans;
                several_matches_are_ambiguous;
                overlapping_matches_are_ambiguous;
                a_failed_edit_leaves_the_file_as_it_is;
                a_near_miss_is_told;
                a_different_line_inside_is_no_match;
                an_edit_refusal_echoes_neither_string;
                an_edit_of_something_missing_is_stale;
                stale_comes_before_not_text_and_matching;
                what_is_no_text_is_not_edited;
                the_kind_comes_before_the_guard;
                a_pipe_is_never_edited [SpecialFiles];
                an_edit_needs_write_permission_on_the_file [Modes];
                an_edit_keeps_the_mode [Modes];
                a_result_over_the_limit_is_too_large;
                the_version_of_an_edit_guards_the_next;
            }
            guard {
                a_rewrite_of_the_same_size_is_stale_and_read_again;
                a_content_that_came_back_is_not_stale;
            }
            protect {
                what_is_below_a_protected_name_is_not_changed;
                a_protected_name_may_be_a_file;
                a_protected_parent_is_not_created;
                a_link_into_a_protected_place_is_no_way_in [Symlinks];
                a_protected_spelling_is_told [Symlinks];
                protected_files_are_read;
                names_that_only_start_alike_are_not_protected;
                protection_comes_before_permission [Modes];
            }
            plan {
                a_planned_creation_creates_nothing;
                a_planned_write_reports_as_the_write_does;
                a_planned_edit_reports_as_the_edit_does;
                a_plan_is_refused_as_its_mutation_is;
                a_plan_needs_write_permission_too [Modes];
            }
            operation {
                a_repeated_write_answers_the_first_report [OperationIds];
                a_repeated_edit_is_made_once [OperationIds];
                a_repetition_leaves_what_came_after [OperationIds];
                a_repetition_may_have_another_guard_and_another_wish_for_a_diff [OperationIds];
                the_id_of_another_request_is_refused [OperationIds];
                a_refusal_is_not_recorded [OperationIds];
                an_aborted_operation_is_not_recorded [OperationIds];
                one_operation_at_once_from_many_has_one_effect [OperationIds];
                of_two_requests_with_one_id_at_once_one_is_refused [OperationIds];
                a_plan_takes_no_notice_of_an_id [OperationIds];
                a_repetition_through_a_link_is_of_the_links_target [OperationIds, Symlinks];
            }
            abort {
                an_aborted_write_changes_nothing;
                an_aborted_edit_changes_nothing;
                an_aborted_mutation_leaves_the_target_free;
                aborted_reads_and_plans_end;
                a_signal_that_fires_later_does_no_harm;
            }
            concurrency {
                of_guarded_writes_from_one_version_one_wins;
                of_creations_of_one_file_one_wins;
                of_guarded_edits_from_one_version_one_wins;
                unguarded_edits_of_different_lines_all_land;
                writes_of_different_files_do_not_meet;
                readers_see_whole_contents;
            }
        }
    };
}

conformance_cases!([case_constants]);
